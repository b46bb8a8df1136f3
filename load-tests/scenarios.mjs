import { SURFACES } from './support/surfaces.mjs'

/** What a request carries: a surface, and for `small` one event instead of as many as are asked. */
export const SENDERS = {
  ...Object.fromEntries(Object.keys(SURFACES).map((surface) => [surface, { surface }])),
  small: { surface: 'native', eventCount: 1 },
}

/** The scenarios by name: what each is for, where it differs from the defaults. */
export const SCENARIOS = {
  mixed: {
    sentence: 'the surfaces at once, as fast as the answers come or at a rate',
    defaults: { VUS: '8', STREAMS: '4' },
  },
  soak: {
    sentence: 'the surfaces at a steady rate for long: latency and memory must stay',
    defaults: {
      SURFACES: 'native,bulk,otlp,loki',
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
