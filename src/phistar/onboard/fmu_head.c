/* What every FMU begins with: CODE_* are defined before this text. */
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

enum { OK = 0, DISCARD = 2, ERROR = 3 };

typedef void (*LogMessage)(void *environment, int status, const char *category, const char *message);

typedef struct {
    double time;
    double values[CODE_INPUTS + CODE_OUTPUTS]; /* value references from 1 on */
    double work[CODE_WORK + 1];
    void *environment;
    LogMessage log_message;
    char *resources;
    int link; /* to a process, where there is one */
    int over;
    long process;
} Instance;
