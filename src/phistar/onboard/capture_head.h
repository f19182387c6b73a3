/* The controller of a capture, one call a sample; written by phistar.
 *
 * A sample is every @PERIOD@ s. It takes at most @OPERATIONS@ operations on floating-point numbers in its kernels and
 * rules, and allocates nothing.
 *
 * readings: @READINGS@
 * tips: normal forces of the fingers, hand by hand, N; target: its pose and motion as seen from the base (13)
 * tau: joint forces of the scene, N m or N */
#ifndef @GUARD@
#define @GUARD@

#include "@NAME@_rules.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { @NAME@_readings = @READ@, @NAME@_tips = @TIPS@, @NAME@_forces = @FORCES@ };

typedef struct {
    double found; /* 1; 0: there is none, and what stands behind `pace` does not matter */
    double start, arrival; /* s */
    double center[3]; /* the target's mass centre, in its frame, as the plan was made with it */
    double doubt[2]; /* standard deviations on arrival, rad and m */
    double pace[6]; /* approach, closing speed, squeeze, squeeze time, slowing, standoff */
    double contact[16 * @HANDS@]; /* the grips in the target's frame when they touch, 4 x 4 each */
    double joints[@JOINTS@], rates[@JOINTS@]; /* on arrival */
    double weights[@HANDS@], shares[@HANDS@]; /* of the hands' pushes on each other */
} @NAME@_plan;

typedef struct {
    @NAME@_rules_state rules; /* phase, and since when */
    int begun, planned, waiting, attempts, touching[@TIPS@];
    double time, surprise, lasting, squeeze;
    double object[18], twist[6], belief[39], covariance[378], center[3], doubt[2], pace[6];
    double smooth[6 * @HANDS@ + @JOINTS@], carrier[18], paths[18 * @HANDS@], angles[@HANDS@];
    double way[3 * @JOINTS@], travel[@HANDS@], closing[@HANDS@], closed[@SLIDES@], held[16 * @HANDS@], home[@JOINTS@];
    @NAME@_plan plan, next;
} @NAME@_state;

void @NAME@_start(@NAME@_state *state);
void @NAME@_hand_in(@NAME@_state *state, const @NAME@_plan *plan);
int @NAME@_step(@NAME@_state *state, double t, const double *readings, const double *tips, const double *target,
    double *tau);

#ifdef __cplusplus
}
#endif

#endif /* @GUARD@ */
