/* One sample of a capture: what capture/controller.py does, without its planner. CODE_* are defined before this text. */

enum { HANDS = CODE_HANDS, JOINTS = CODE_JOINTS, TIPS = CODE_TIPS, SLIDES = CODE_SLIDES, PATHS = 18 * CODE_HANDS };
enum { SMOOTH = 6 * HANDS + JOINTS, NOW = 3 + 8 * HANDS + 7 + 4 * SLIDES, FACTS = CODE_FACTS };

/* Settings that a plan sets by how fast its target spins. */
enum { APPROACH, CLOSING_SPEED, SQUEEZE, SQUEEZE_TIME, SLOWING, STANDOFF };

static double smaller(double x, double y) { return y < x ? y : x; }
static double larger(double x, double y) { return y > x ? y : x; }
static double clipped(double x) { return larger(0.0, smaller(x, 1.0)); }
static int is_any(int phase, const int *flags) { return flags[phase]; }

static void move(double *to, const double *from, int count) { memcpy(to, from, (size_t)count * sizeof(double)); }
static void clear(double *to, int count) { memset(to, 0, (size_t)count * sizeof(double)); }

/* How far, how fast, and how that changes (capture/paths.py) */

static void quintic(double x, double lasting, double *s)
{
    const double y = 1.0 - (x = clipped(x));
    s[0] = x * x * x * (10 - 15 * x + 6 * x * x);
    s[1] = 30 * (x * y) * (x * y) / lasting;
    s[2] = 60 * x * y * (y - x) / (lasting * lasting);
}

static void leading_out(double x, double lasting, double *e)
{
    const double beyond = larger(x - 1.0, 0.0);
    x = clipped(x);
    e[0] = (beyond + x * x * x * (-4 + 7 * x - 3 * x * x)) * lasting;
    e[1] = x * x * (-12 + 28 * x - 15 * x * x);
    e[2] = x * (-24 + 84 * x - 60 * x * x) / lasting;
}

static void fading(double elapsed, double lasting, double *coast)
{
    const double x = clipped(elapsed / lasting);
    double s[3];
    quintic(x, lasting, s);
    coast[0] = lasting * (x - x * x * x * x * (2.5 - 3 * x + x * x));
    coast[1] = 1.0 - s[0];
    coast[2] = -s[1];
}

/* Poses: 16 numbers, row by row */

static void product(const double *a, int transposed, const double *b, double *c)
{
    int i, j, k;
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) {
            double sum = 0.0;
            for (k = 0; k < 3; k++) sum += (transposed ? a[3 * k + i] : a[3 * i + k]) * b[3 * k + j];
            c[3 * i + j] = sum;
        }
}

static void turn_of(const double *pose, double *turn)
{
    int i, j;
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) turn[3 * i + j] = pose[4 * i + j];
}

static void put_turn(const double *turn, double *pose)
{
    int i, j;
    for (i = 0; i < 3; i++)
        for (j = 0; j < 3; j++) pose[4 * i + j] = turn[3 * i + j];
}

/* Grips (12 each) in the frame of a carrier. */
static void seen_from(const double *carrier, const double *grips, double *poses)
{
    int hand, i, k;
    for (hand = 0; hand < HANDS; hand++) {
        const double *const grip = grips + 12 * hand;
        double *const pose = poses + 16 * hand, turn[9];
        product(carrier, 1, grip, turn);
        put_turn(turn, pose);
        for (i = 0; i < 3; i++) {
            double sum = 0.0;
            for (k = 0; k < 3; k++) sum += carrier[3 * k + i] * (grip[9 + k] - carrier[9 + k]);
            pose[4 * i + 3] = sum;
            pose[12 + i] = 0.0;
        }
        pose[15] = 1.0;
    }
}

static void outward(const double *poses, double distance, double *moved)
{
    int hand, i;
    if (moved != poses) move(moved, poses, 16 * HANDS);
    for (hand = 0; hand < HANDS; hand++)
        for (i = 0; i < 3; i++) moved[16 * hand + 4 * i + 3] -= distance * poses[16 * hand + 4 * i + 2];
}

/* The point of a carrier `shift` away in its axes. */
static void shift_point(double *carrier, const double *shift)
{
    double arm[3];
    const double *const w = carrier + 12;
    int i;
    for (i = 0; i < 3; i++)
        arm[i] = carrier[3 * i] * shift[0] + carrier[3 * i + 1] * shift[1] + carrier[3 * i + 2] * shift[2];
    for (i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        carrier[9 + i] += arm[i];
        carrier[15 + i] += w[j] * arm[k] - w[k] * arm[j];
    }
}

/* The unit quaternion of a rotation, by its largest entry (Shepperd). */
static void quaternion_of(const double *r, double *q)
{
    const double outer[16] = {
        1 + r[0] - r[4] - r[8], r[1] + r[3], r[2] + r[6], r[7] - r[5],
        r[1] + r[3], 1 - r[0] + r[4] - r[8], r[5] + r[7], r[2] - r[6],
        r[2] + r[6], r[5] + r[7], 1 - r[0] - r[4] + r[8], r[3] - r[1],
        r[7] - r[5], r[2] - r[6], r[3] - r[1], 1 + r[0] + r[4] + r[8]};
    double length = 0.0;
    int i, pivot = 0;
    for (i = 1; i < 4; i++)
        if (outer[5 * i] > outer[5 * pivot]) pivot = i;
    for (i = 0; i < 4; i++) length += outer[4 * pivot + i] * outer[4 * pivot + i];
    for (i = 0; i < 4; i++) q[i] = outer[4 * pivot + i] / sqrt(length);
}

/* Paths from poses to poses. */
static void follow_paths(NAME(state) *own, const double *starts, const double *goals, double lasting)
{
    int hand, i;
    for (hand = 0; hand < HANDS; hand++) {
        const double *const start = starts + 16 * hand, *const goal = goals + 16 * hand;
        double *const path = own->paths + 18 * hand, from[9], to[9], turn[9], q[4], w[3];
        turn_of(start, from);
        turn_of(goal, to);
        product(from, 1, to, turn);
        quaternion_of(turn, q);
        NAME(turn_vector)(q, w);
        own->angles[hand] = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
        move(path, from, 9);
        for (i = 0; i < 3; i++) {
            path[9 + i] = start[4 * i + 3];
            path[12 + i] = w[i] / larger(own->angles[hand], 1e-12);
            path[15 + i] = goal[4 * i + 3] - start[4 * i + 3];
        }
    }
    own->lasting = lasting;
}

/* What is known */

static void angles_read(const double *readings, double *angles)
{
    int i;
    for (i = 0; i < JOINTS; i++) angles[i] = readings[angle_at[i]];
}

static double closed_read(const double *readings, int finger)
{
    return jaw_ways[finger] * (readings[jaw_at[finger]] - jaw_open[finger]);
}

static void rest_at(NAME(state) *own, const double *angles)
{
    move(own->way, angles, JOINTS);
    move(own->way + JOINTS, angles, JOINTS);
    clear(own->way + 2 * JOINTS, JOINTS);
}

static void begin(NAME(state) *own, const double *readings, const double *base, const double *target)
{
    double state[18];
    angles_read(readings, own->home);
    rest_at(own, own->home);
    NAME(first_sight)(target, base, own->center, own->belief, own->covariance, state);
    move(own->object, state, 18);
    move(own->carrier, state, 18);
    own->begun = 1;
}

static int fingers_on(const NAME(state) *own, int hand)
{
    int i, count = 0;
    for (i = first_tip[hand]; i < first_tip[hand + 1]; i++) count += own->touching[i];
    return count;
}

static int touched(const NAME(state) *own)
{
    int hand, count = 0;
    for (hand = 0; hand < HANDS; hand++) count += fingers_on(own, hand);
    return count;
}

static void follow(NAME(state) *own, double t, const double *base, const double *tips, const double *target)
{
    const int phase = own->rules.phase, startled = own->surprise > CODE_STARTLED && phase != CODE_approach;
    const int pushed = is_any(phase, untouched) && (touched(own) || startled);
    const double times[2] = {t - own->time, CODE_DELAY};
    double belief[39], covariance[378], nis;
    int i;
    NAME(follow)(own->belief, own->covariance, target, base, noises[pushed ? CODE_contact : phase], times,
        own->center, belief, covariance, own->object, own->twist, &nis);
    move(own->belief, belief, 39);
    move(own->covariance, covariance, 378);
    own->surprise += CODE_PERIOD / CODE_SURPRISING * (nis - own->surprise);
    for (i = 0; i < TIPS; i++) own->touching[i] = own->touching[i] ? tips[i] >= CODE_TOUCH_OFF : tips[i] > CODE_TOUCH_ON;
}

/* A plan that was handed in since the last sample, and the mass centre it was made with. */
static void take_plan(NAME(state) *own)
{
    double shift[3];
    int i;
    if (!own->waiting) return;
    for (i = 0; i < 3; i++) shift[i] = own->next.center[i] - own->center[i];
    shift_point(own->object, shift);
    move(own->center, own->next.center, 3);
    if (own->next.found) {
        own->plan = own->next;
        move(own->doubt, own->next.doubt, 2);
    }
    move(own->pace, own->next.pace, 6);
    own->planned = own->next.found;
    own->waiting = 0;
}

/* Phase "contact": hands come to press (capture/jaw_moves.py) */

static void press(NAME(state) *own, const double *readings)
{
    const double fastest = own->pace[CLOSING_SPEED], most = fastest * CODE_PERIOD / CODE_SOON;
    double there[HANDS];
    int hand, i, ready = 1;
    for (hand = 0; hand < HANDS; hand++) {
        const int on = fingers_on(own, hand), all = first_tip[hand + 1] - first_tip[hand];
        ready = ready && (first_slide[hand] < first_slide[hand + 1] ? on == all : on > 0);
    }
    if (own->squeeze > 0.0 || ready) {
        if (own->squeeze == 0.0)
            for (i = 0; i < SLIDES; i++) own->closed[i] = closed_read(readings, i);
        own->squeeze += own->pace[SQUEEZE] * CODE_PERIOD / own->pace[SQUEEZE_TIME];
        own->squeeze = smaller(own->squeeze, own->pace[SQUEEZE]);
        clear(own->closing, HANDS);
        return;
    }
    for (hand = 0; hand < HANDS; hand++) {
        const int jaw = first_slide[hand] < first_slide[hand + 1];
        const double deep = jaw ? own->pace[STANDOFF] + ahead[hand] : HUGE_VAL;
        there[hand] = own->travel[hand] >= deep - 1e-9 || fingers_on(own, hand) > 0;
        own->closing[hand] = there[hand] ? 0.0 : smaller(own->closing[hand] + most, fastest);
        own->travel[hand] = smaller(own->travel[hand] + CODE_PERIOD * own->closing[hand], deep);
        for (i = first_slide[hand]; there[hand] && i < first_slide[hand + 1]; i++)
            own->closed[i] = smaller(own->closed[i] + CODE_PERIOD * fastest, closed_read(readings, i) + CODE_SLACK);
    }
}

static void open_jaws(NAME(state) *own)
{
    int i;
    for (i = 0; i < SLIDES; i++) own->closed[i] = larger(own->closed[i] - CODE_PERIOD * own->pace[CLOSING_SPEED], 0.0);
}

/* References */

static void carry(const NAME(state) *own, double elapsed, const double *base, double *carrier)
{
    const int phase = own->rules.phase;
    double coast[3] = {0.0, 0.0, 0.0};
    if (is_any(phase, holding)) {
        if (phase == CODE_coordinate) fading(elapsed, own->pace[SLOWING], coast);
        NAME(carry)(own->carrier, coast, base, carrier);
    } else {
        move(carrier, phase == CODE_approach ? own->object : own->carrier, 18);
    }
}

static void advance(const NAME(state) *own, double elapsed, double *now)
{
    const int phase = own->rules.phase;
    double *const hands = now + 3, *const light = now + 3 + 6 * HANDS, *const weights = light + HANDS;
    double *const ways = weights + HANDS + 1, *const fingers = ways + 6, s[3], squeeze = 0.0, rate, most;
    int hand, i;
    clear(now, NOW);
    now[1] = ways[0] = 1.0;
    for (hand = 0; hand < HANDS; hand++) weights[hand] = own->planned ? own->plan.weights[hand] : 1.0;
    if (is_any(phase, on_joints)) {
        quintic(elapsed / own->lasting, own->lasting, ways);
        leading_out(elapsed / own->lasting, own->lasting, ways + 3);
    } else if (phase == CODE_approach || phase == CODE_back_off) {
        quintic(elapsed / own->lasting, own->lasting, s);
        for (hand = 0; hand < HANDS; hand++)
            for (i = 0; i < 3; i++) {
                hands[6 * hand + i] = own->angles[hand] * s[i];
                hands[6 * hand + 3 + i] = s[i];
            }
    } else if (phase == CODE_contact) {
        now[0] = elapsed;
        squeeze = own->squeeze;
        for (hand = 0; hand < HANDS; hand++) {
            hands[6 * hand + 3] = own->travel[hand];
            hands[6 * hand + 4] = own->closing[hand];
            if (squeeze == 0.0 && first_slide[hand] == first_slide[hand + 1] && fingers_on(own, hand) > 0)
                light[hand] = CODE_LIGHT;
        }
    } else {
        squeeze = own->pace[SQUEEZE];
    }
    weights[HANDS] = squeeze;
    squeeze = is_any(phase, holding) ? own->pace[SQUEEZE] : phase == CODE_contact ? own->squeeze : 0.0;
    rate = squeeze > 0.0 ? 0.0 : phase == CODE_contact ? own->pace[CLOSING_SPEED] : -own->pace[CLOSING_SPEED];
    most = squeeze > 0.0 ? own->pace[SQUEEZE] : phase == CODE_contact ? CODE_LIGHT : CODE_SERVO;
    for (i = 0; i < SLIDES; i++) {
        fingers[4 * i] = own->closed[i];
        fingers[4 * i + 1] = own->closed[i] > 0.0 ? rate : 0.0;
        fingers[4 * i + 2] = most;
        fingers[4 * i + 3] = squeeze;
    }
}
