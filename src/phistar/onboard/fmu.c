/* FMI 3.0 for co-simulation, around `begin_run`, `advance` and `end_run`, which stand before this text. */
static const double begin[CODE_INPUTS + 1] = {CODE_START};

static void clear(Instance *own)
{
    own->time = 0.0;
    own->over = 0;
    memset(own->values, 0, sizeof own->values);
    memcpy(own->values, begin, CODE_INPUTS * sizeof(double));
}

EXPORT const char *fmi3GetVersion(void) { return "3.0"; }

EXPORT int fmi3SetDebugLogging(void *own, int on, size_t count, const char *const *categories)
{
    (void)own, (void)on, (void)count, (void)categories;
    return OK;
}

EXPORT void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, int visible,
    int logging, int events, int early, const unsigned *intermediate, size_t count, void *environment,
    LogMessage log_message, void *update)
{
    Instance *own;
    (void)name, (void)visible, (void)logging, (void)early, (void)intermediate, (void)count, (void)update;
    if (events || strcmp(token, CODE_TOKEN) != 0 || !(own = calloc(1, sizeof *own))) return NULL;
    if (!resources) resources = "";
    if (!(own->resources = malloc(strlen(resources) + 1))) return free(own), NULL;
    strcpy(own->resources, resources);
    own->environment = environment;
    own->log_message = log_message;
    clear(own);
    return own;
}

EXPORT void fmi3FreeInstance(void *instance)
{
    Instance *const own = instance;
    if (!own) return;
    end_run(own);
    free(own->resources);
    free(own);
}

EXPORT int fmi3EnterInitializationMode(void *own, int has_tolerance, double tolerance, double start, int has_stop,
    double stop)
{
    (void)has_tolerance, (void)tolerance, (void)has_stop, (void)stop;
    ((Instance *)own)->time = start;
    return OK;
}

EXPORT int fmi3ExitInitializationMode(void *own) { return begin_run(own); }

EXPORT int fmi3EnterStepMode(void *own) { return (void)own, ERROR; }
EXPORT int fmi3EnterEventMode(void *own) { return (void)own, ERROR; }
EXPORT int fmi3Terminate(void *own) { return (void)own, OK; }

EXPORT int fmi3Reset(void *own)
{
    end_run(own);
    clear(own);
    return OK;
}

EXPORT int fmi3DoStep(void *instance, double point, double size, int no_set, int *event, int *terminate, int *early,
    double *reached)
{
    Instance *const own = instance;
    int status;
    (void)no_set;
    *event = *terminate = *early = 0;
    *reached = point;
    if (!(size > 0.0)) return DISCARD;
    own->time = point;
    if ((status = advance(own, size)) != OK) return status;
    *reached = own->time = point + size;
    *terminate = own->over;
    return OK;
}

EXPORT int fmi3GetFloat64(void *instance, const unsigned *references, size_t count, double *values, size_t size)
{
    const Instance *const own = instance;
    size_t i;
    if (size != count) return ERROR;
    for (i = 0; i < count; i++) {
        if (references[i] > CODE_INPUTS + CODE_OUTPUTS) return ERROR;
        values[i] = references[i] ? own->values[references[i] - 1] : own->time;
    }
    return OK;
}

EXPORT int fmi3SetFloat64(void *instance, const unsigned *references, size_t count, const double *values, size_t size)
{
    Instance *const own = instance;
    size_t i;
    if (size != count) return ERROR;
    for (i = 0; i < count; i++) {
        if (references[i] < 1 || references[i] > CODE_INPUTS) return ERROR;
        own->values[references[i] - 1] = values[i];
    }
    return OK;
}

/* There are no variables of other types, no clocks, no derivatives and no states to be saved. */
#define NONE(TYPE) \
    EXPORT int fmi3Get##TYPE(void *own, const unsigned *references, size_t count, void *values, size_t size) \
    { \
        return (void)own, (void)references, (void)values, (void)size, count ? ERROR : OK; \
    } \
    EXPORT int fmi3Set##TYPE(void *own, const unsigned *references, size_t count, const void *values, size_t size) \
    { \
        return (void)own, (void)references, (void)values, (void)size, count ? ERROR : OK; \
    }
NONE(Float32)
NONE(Int8)
NONE(UInt8)
NONE(Int16)
NONE(UInt16)
NONE(Int32)
NONE(UInt32)
NONE(Int64)
NONE(UInt64)
NONE(Boolean)
NONE(String)
EXPORT int fmi3GetFMUState(void *own, void **state) { return (void)own, (void)state, ERROR; }
EXPORT int fmi3SetFMUState(void *own, void *state) { return (void)own, (void)state, ERROR; }
EXPORT int fmi3FreeFMUState(void *own, void **state) { return (void)own, (void)state, OK; }

/* What an FMU for co-simulation alone has to export and nothing calls: arguments stay where their callers put them. */
#define UNUSED(NAME) EXPORT int fmi3##NAME(void) { return ERROR; }
UNUSED(ActivateModelPartition)
UNUSED(CompletedIntegratorStep)
UNUSED(DeserializeFMUState)
UNUSED(EnterConfigurationMode)
UNUSED(EnterContinuousTimeMode)
UNUSED(EvaluateDiscreteStates)
UNUSED(ExitConfigurationMode)
UNUSED(GetAdjointDerivative)
UNUSED(GetBinary)
UNUSED(GetClock)
UNUSED(GetContinuousStateDerivatives)
UNUSED(GetContinuousStates)
UNUSED(GetDirectionalDerivative)
UNUSED(GetEventIndicators)
UNUSED(GetIntervalDecimal)
UNUSED(GetIntervalFraction)
UNUSED(GetNominalsOfContinuousStates)
UNUSED(GetNumberOfContinuousStates)
UNUSED(GetNumberOfEventIndicators)
UNUSED(GetNumberOfVariableDependencies)
UNUSED(GetOutputDerivatives)
UNUSED(GetShiftDecimal)
UNUSED(GetShiftFraction)
UNUSED(GetVariableDependencies)
UNUSED(SerializeFMUState)
UNUSED(SerializedFMUStateSize)
UNUSED(SetBinary)
UNUSED(SetClock)
UNUSED(SetContinuousStates)
UNUSED(SetIntervalDecimal)
UNUSED(SetIntervalFraction)
UNUSED(SetShiftDecimal)
UNUSED(SetShiftFraction)
UNUSED(SetTime)
UNUSED(UpdateDiscreteStates)
EXPORT void *fmi3InstantiateModelExchange(void) { return NULL; }
EXPORT void *fmi3InstantiateScheduledExecution(void) { return NULL; }
