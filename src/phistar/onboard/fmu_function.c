/* An FMU of one function of C, which CODE_CALL calls. */
static int begin_run(Instance *own)
{
    const double *const in = own->values;
    double *const out = own->values + CODE_INPUTS;
    (void)in;
    CODE_CALL;
    return OK;
}

static int advance(Instance *own, double size)
{
    (void)size;
    return begin_run(own);
}

static void end_run(Instance *own) { (void)own; }
