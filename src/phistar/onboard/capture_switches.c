/* What a capture remembers from a switch of phase on, and its sample as a whole. */

static void give_up(NAME(state) *own)
{
    own->attempts += 1;
    own->planned = 0;
}

/* z along the normal of what grips touch, where they touch it. */
static void touching_poses(const double *poses, const double *readings, double *made)
{
    int hand, i;
    move(made, poses, 16 * HANDS);
    for (hand = 0; hand < HANDS; hand++) {
        const double *const pose = poses + 16 * hand;
        double shift = 0.0;
        if (first_slide[hand] == first_slide[hand + 1]) continue;
        if (readings) {
            const int at = first_slide[hand];
            shift = 0.5 * (closed_read(readings, at) - closed_read(readings, at + 1));
        }
        for (i = 0; i < 3; i++) {
            made[16 * hand + 4 * i] = pose[4 * i + 1];
            made[16 * hand + 4 * i + 1] = pose[4 * i + 2];
            made[16 * hand + 4 * i + 2] = pose[4 * i];
            made[16 * hand + 4 * i + 3] = pose[4 * i + 3] + shift * pose[4 * i];
        }
    }
}

static void locate_by_touch(NAME(state) *own, const double *readings, const double *grips)
{
    double frame[18], now[16 * HANDS], lying[16 * HANDS], there[16 * HANDS];
    double belief[39], covariance[378], back[3];
    int i;
    for (i = 0; i < 3; i++) back[i] = -own->center[i];
    move(frame, own->object, 18);
    shift_point(frame, back);
    seen_from(frame, grips, now);
    touching_poses(own->plan.contact, NULL, there);
    touching_poses(now, readings, lying);
    NAME(locate)(own->belief, own->covariance, lying, there, own->center, belief, covariance, own->object);
    move(own->belief, belief, 39);
    move(own->covariance, covariance, 378);
}

static void enter(NAME(state) *own, double t, double elapsed, const double *readings, const double *base,
    const double *grips)
{
    const int phase = own->rules.phase;
    double starts[16 * HANDS], goals[16 * HANDS], angles[JOINTS], coast[3], carrier[18];
    int hand, i;
    angles_read(readings, angles);
    if (phase == CODE_plan || phase == CODE_aborted) {
        rest_at(own, angles);
        own->lasting = 1.0;
        own->planned = 0;
    } else if (phase == CODE_regroup || phase == CODE_retreat) {
        if (own->planned) give_up(own);
        rest_at(own, angles);
        move(own->way + JOINTS, own->home, JOINTS);
        own->lasting = CODE_RETREAT_TIME;
    } else if (phase == CODE_back_off) {
        seen_from(own->object, grips, starts);
        outward(starts, CODE_BACK_OFF, goals);
        give_up(own);
        move(own->carrier, own->object, 12);
        clear(own->carrier + 12, 6);
        follow_paths(own, starts, goals, CODE_BACK_OFF_TIME);
    } else if (phase == CODE_hold) {
        fading(elapsed, own->pace[SLOWING], coast);
        NAME(coast)(own->carrier, coast, carrier);
        move(own->carrier, carrier, 18);
    } else if (!own->planned) {
        return;
    } else if (phase == CODE_reach) {
        move(own->way, angles, JOINTS);
        move(own->way + JOINTS, own->plan.joints, JOINTS);
        move(own->way + 2 * JOINTS, own->plan.rates, JOINTS);
        own->lasting = larger(own->plan.arrival - t, 0.5);
    } else if (phase == CODE_approach || phase == CODE_contact) {
        move(goals, own->plan.contact, 16 * HANDS);
        for (hand = 0; hand < HANDS; hand++)
            for (i = 0; i < 3; i++) goals[16 * hand + 4 * i + 3] -= own->center[i];
        outward(goals, own->pace[STANDOFF] + CODE_AHEAD, goals);
        if (phase == CODE_approach) {
            seen_from(own->object, grips, starts);
            follow_paths(own, starts, goals, own->pace[APPROACH]);
        } else {
            move(own->carrier, own->object, 18);
            outward(goals, -1.0, starts);
            follow_paths(own, goals, starts, 1.0);
            clear(own->travel, HANDS);
            clear(own->closing, HANDS);
            own->squeeze = 0.0;
        }
    } else if (phase == CODE_coordinate) {
        locate_by_touch(own, readings, grips);
        coast[0] = elapsed, coast[1] = 1.0, coast[2] = 0.0;
        NAME(coast)(own->carrier, coast, carrier);
        seen_from(carrier, grips, starts);
        seen_from(own->object, grips, own->held);
        NAME(in_base)(carrier, base, own->carrier);
        follow_paths(own, starts, starts, own->pace[SLOWING] + CODE_SETTLING);
    }
}

void NAME(start)(NAME(state) *own)
{
    int i;
    memset(own, 0, sizeof *own);
    NAME(rules_start)(&own->rules, 0.0);
    own->time = -CODE_PERIOD;
    own->surprise = own->lasting = 1.0;
    for (i = 0; i < 16 * HANDS; i += 5 + 11 * (i % 16 == 15)) own->held[i] = 1.0;
    move(own->pace, pace, 6);
}

void NAME(hand_in)(NAME(state) *own, const NAME(plan) *plan)
{
    own->next = *plan;
    own->waiting = 1;
}

int NAME(step)(NAME(state) *own, double t, const double *readings, const double *tips, const double *target, double *tau)
{
    const double *const base = BASE(readings);
    const double since = own->rules.since, elapsed = t - since;
    const int phase = own->rules.phase;
    double carrier[18], now[NOW], smooth[SMOOTH], grips[12 * HANDS], measured[CODE_MEASURED], all[FACTS];
    double known[CODE_KNOWN], on[TIPS], shares[HANDS];
    int i, rule;
    if (!own->begun) begin(own, readings, base, target);
    follow(own, t, base, tips, target);
    take_plan(own);
    if (phase == CODE_contact)
        press(own, readings);
    else if (!is_any(phase, holding))
        open_jaws(own);
    carry(own, elapsed, base, carrier);
    advance(own, elapsed, now);
    NAME(law)(readings, own->smooth, carrier, own->paths, own->way, gains[phase], smoothing, now, MASS tau, smooth, grips,
        measured);
    move(own->smooth, smooth, SMOOTH);
    {
        const double told[10] = {own->planned, own->attempts, own->planned ? own->plan.start - t : 0.0, own->doubt[0],
            own->doubt[1], own->surprise, since + own->lasting - t, own->squeeze, own->pace[SQUEEZE],
            is_any(phase, holding)};
        for (i = 0; i < TIPS; i++) on[i] = own->touching[i];
        for (i = 0; i < HANDS; i++) shares[i] = own->planned ? own->plan.shares[i] : 1.0;
        NAME(facts)(measured, tips, on, grips, own->object, own->held, own->twist, shares, told, all);
    }
    for (i = 0; i < CODE_KNOWN; i++) known[i] = all[fact_at[i]];
    rule = NAME(rules_step)(&own->rules, t, known);
    own->time = t;
    if (rule) enter(own, t, elapsed, readings, base, grips);
    return rule;
}
