/** A quiet time before and after the burst: requests of so many events. */
export const QUIET_EVENTS = 100

const ALL = [{ surface: 'native' }, { surface: 'bulk' }, { surface: 'otlp' }]

/** The scenarios by name: what each is for, what it sends, where it differs from the defaults. */
export const SCENARIOS = {
  native: {
    sentence: 'JSON lines to /v1/ingest, as fast as the answers come',
    bodies: [{ surface: 'native' }],
    defaults: {},
  },
  bulk: {
    sentence: 'the same events to /_bulk, with the full answer of an item an event',
    bodies: [{ surface: 'bulk' }],
    defaults: {},
  },
  otlp: {
    sentence: 'the same events to /v1/otlp/v1/logs, protobuf or JSON',
    bodies: [{ surface: 'otlp' }],
    defaults: {},
  },
  mixed: {
    sentence: 'native, bulk, OTLP and small requests at once',
    bodies: [...ALL, { surface: 'native', eventCount: 1 }],
    defaults: { VUS: '8', STREAMS: '4' },
  },
  small: {
    sentence: 'one event a request on many connections',
    bodies: [{ surface: 'native' }],
    defaults: { VUS: '64', EVENTS_PER_REQUEST: '1' },
  },
  burst: {
    sentence: 'far more than fits in flight: refused cleanly, nothing lost, well again after it',
    bodies: [{ surface: 'native' }, { surface: 'native', eventCount: QUIET_EVENTS }],
    defaults: { VUS: '40', EVENTS_PER_REQUEST: '4000', DURATION: '10s', ACK_P99_MS_MAX: '2000' },
    /** For a service that the runner starts: a bound that is soon reached. */
    serviceFlags: ['--in-flight-bytes-max', '20971520'],
  },
  soak: {
    sentence: 'all surfaces at a steady rate for long: latency and memory must stay',
    bodies: ALL,
    defaults: {
      VUS: '16',
      EVENTS_PER_REQUEST: '200',
      DURATION: '30m',
      RATE: '2000',
      ACK_P99_MS_MAX: '2000',
      STREAMS: '2',
    },
  },
}

/** Distinct events in the generated corpus. */
export const CORPUS_EVENTS = 10_000
