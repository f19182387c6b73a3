/* An FMU whose work a process of Python does: numbers go to and fro through a pair of sockets. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

extern char **environ;

enum { LONGEST = 500, FAILED = 1, OVER = 2 }; /* bytes of a sentence; what an answer may begin with */

static int failed(Instance *own, const char *message)
{
    if (own->log_message) own->log_message(own->environment, ERROR, "logStatusError", message);
    return ERROR;
}

static int put(Instance *own, const void *data, size_t size)
{
    const char *next = data;
    while (size) {
        const ssize_t gone = send(own->link, next, size, MSG_NOSIGNAL);
        if (gone <= 0) return ERROR;
        next += gone, size -= (size_t)gone;
    }
    return OK;
}

static int get(Instance *own, void *data, size_t size)
{
    char *next = data;
    while (size) {
        const ssize_t come = recv(own->link, next, size, 0);
        if (come <= 0) return ERROR;
        next += come, size -= (size_t)come;
    }
    return OK;
}

/* How far to go, s, and the inputs; then how it went, and the outputs or a sentence. */
static int ask(Instance *own, double size)
{
    double status;
    char told[LONGEST + 1] = {0};
    if (put(own, &size, sizeof size) || put(own, own->values, CODE_INPUTS * sizeof(double)) || get(own, &status, sizeof status))
        return failed(own, "the process of Python that runs the scene has ended; its error output says why");
    if ((int)status == FAILED) return get(own, told, LONGEST) ? failed(own, "no reason was given") : failed(own, told);
    own->over = (int)status == OVER;
    return get(own, own->values + CODE_INPUTS, CODE_OUTPUTS * sizeof(double)) ? failed(own, "an answer was cut off") : OK;
}

static void end_run(Instance *own)
{
    if (!own->process) return;
    close(own->link);
    waitpid((pid_t)own->process, NULL, 0);
    own->process = 0;
}

static int begin_run(Instance *own)
{
    const char *python = getenv("PHISTAR_PYTHON");
    char link[16];
    char *command[] = {NULL, "-m", "phistar.onboard.fmu_process", own->resources, link, NULL};
    int ends[2];
    pid_t made;
    end_run(own);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return failed(own, "no pair of sockets can be had");
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    snprintf(link, sizeof link, "%d", ends[1]);
    command[0] = (char *)(python && *python ? python : CODE_PYTHON);
    if (posix_spawnp(&made, command[0], NULL, NULL, command, environ)) {
        close(ends[0]), close(ends[1]);
        return failed(own, "Python cannot be started; the environment variable PHISTAR_PYTHON names one that has phistar");
    }
    close(ends[1]);
    own->process = made, own->link = ends[0];
    return ask(own, 0.0);
}

static int advance(Instance *own, double size) { return ask(own, size); }
