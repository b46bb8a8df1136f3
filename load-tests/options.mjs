/**
 * What a load test can be told, once for the runner (flags), for k6 (the same names in the
 * environment) and for `--help`. Pure: runs in Node and in k6.
 */
import { SCENARIOS, SENDERS } from './scenarios.mjs'

/** `env` is also the flag in kebab-case unless `isSecret`: a command line is no place for those. */
export const OPTIONS = [
  ['BASE_URL', 'url', 'the service; without it one is started and removed again'],
  ['TOKEN', 'secret', 'admin token (or streams:write, streams:read, events:read) to make streams'],
  ['API_KEY', 'secret', 'a key of a stream of yours, instead of making one'],
  ['STREAM_ID', 'text', 'the stream of API_KEY: with TOKEN its events are counted after the run'],
  ['SURFACES', 'senders', `what to send: some of ${Object.keys(SENDERS).join()}`],
  ['VUS', 'count', 'virtual users, each with a connection of its own'],
  ['DURATION', 'duration', 'how long to send: 90s, 10m, 2h'],
  ['EVENTS_PER_REQUEST', 'count', 'events in a request'],
  ['RATE', 'rate', 'events a second, sent when due; 0: as fast as the answers come'],
  ['STREAMS', 'count', 'streams to make; the virtual users go round them'],
  ['COMPRESSION', 'compression', 'none or gzip; k6 compresses each request, at its own cost'],
  ['ACK_P99_MS_MAX', 'count', 'fails when the 99th percentile of acknowledgements is above'],
  ['EVENTS_PER_SECOND_MIN', 'rate', 'fails when fewer events a second are acknowledged'],
  ['REFUSED_SHARE_MAX', 'share', 'fails when a larger share of requests is refused, 0 to 1'],
  [
    'MEMORY_GROWTH_MIB_MAX',
    'count',
    'soak, aborts: fails when the service grows more in its second half',
  ],
  ['RETRY_SECONDS_MAX', 'rate', 'comes again so soon after a refusal, whatever Retry-After says'],
  ['SERVICE_FLAGS', 'text', 'options for the service that is started'],
  ['ABORTS', 'rate', 'clients beside it that break their requests off; needs TOKEN'],
  ['PROJECTION_SECONDS_MAX', 'rate', 'how long queries may take to count all events'],
  ['KEEP_STREAMS', 'flag', 'leaves the streams that were made'],
  ['CORPUS', 'text', 'a file with an event (a JSON object) a line, instead of generated ones'],
  ['PREPARE', 'text', 'runs nothing: puts the bodies into this folder, for k6 on other machines'],
  ['SUMMARY_JSON', 'text', 'writes the figures to this file too'],
].map(([env, kind, sentence]) => ({
  env,
  kind,
  sentence,
  flag: kind === 'secret' ? undefined : `--${env.toLowerCase().replaceAll('_', '-')}`,
}))

/** Also of events in a request: far over what a body may hold, and still in memory. */
const COUNT_MAX = 100_000

/** For every scenario that does not say otherwise. */
const DEFAULTS = {
  BASE_URL: '',
  TOKEN: '',
  API_KEY: '',
  STREAM_ID: '',
  SURFACES: Object.keys(SENDERS).join(),
  VUS: '4',
  DURATION: '30s',
  EVENTS_PER_REQUEST: '1000',
  RATE: '0',
  STREAMS: '1',
  COMPRESSION: 'none',
  // As fast as the answers come, latency is the users' own queue: this finds what is stuck. A
  // promise about latency is measured at a rate.
  ACK_P99_MS_MAX: '5000',
  EVENTS_PER_SECOND_MIN: '1',
  REFUSED_SHARE_MAX: '0',
  MEMORY_GROWTH_MIB_MAX: '128',
  RETRY_SECONDS_MAX: '60',
  SERVICE_FLAGS: '',
  ABORTS: '0',
  PROJECTION_SECONDS_MAX: '60',
  KEEP_STREAMS: '',
  CORPUS: '',
  PREPARE: '',
  SUMMARY_JSON: '',
}

/** `null` is what none of them takes. */
const PARSERS = {
  text: (value) => value,
  secret: (value) => value,
  url: (value) =>
    value === '' || /^https?:\/\/[^/]/.test(value) ? value.replace(/\/+$/, '') : null,
  count: (value) =>
    /^[1-9]\d{0,5}$/.test(value) && Number(value) <= COUNT_MAX ? Number(value) : null,
  rate: (value) => (/^\d{1,9}$/.test(value) ? Number(value) : null),
  senders: tryParseSenders,
  share: (value) => (/^(0|1|0?\.\d+)$/.test(value) ? Number(value) : null),
  duration: tryParseSeconds,
  compression: (value) => (['none', 'gzip'].includes(value) ? value : null),
  flag: (value) => !['', '0', 'false', 'no'].includes(value),
}

/** What the parsers that can fail take, for people. */
const TAKES = {
  url: 'a URL: http://... or https://...',
  count: `a whole number from 1 to ${COUNT_MAX}`,
  rate: 'a whole number from 0 on',
  senders: `some of ${Object.keys(SENDERS).join()}`,
  share: 'a number from 0 to 1',
  duration: 'a time: 90s, 10m, 2h',
  compression: 'none or gzip',
}

/** What a scenario's option is when nobody sets it, as text. */
export function defaultOf(scenario, env) {
  return SCENARIOS[scenario].defaults[env] ?? DEFAULTS[env]
}

/**
 * The options of a scenario by their names in the environment. An empty variable counts as unset.
 * Throws with the option's name and what it takes, never with a value: it may be a secret.
 */
export function readOptions(environment, scenario) {
  const options = {}
  for (const { env, kind } of OPTIONS) {
    const given = environment[env]
    const value = PARSERS[kind](
      given === undefined || given === '' ? defaultOf(scenario, env) : given,
    )
    if (value === null) throw new Error(`${env} takes ${TAKES[kind]}`)
    options[env] = value
  }
  return options
}

/** What is sent: each surface with its events a request. */
export function bodiesOf(options) {
  return options.SURFACES.map((sender) => bodyOf(sender, options))
}

export function bodyOf(sender, options) {
  return { eventCount: options.EVENTS_PER_REQUEST, ...SENDERS[sender] }
}

function tryParseSenders(value) {
  const senders = value.split(',')
  const isKnown = senders.every((sender) => Object.hasOwn(SENDERS, sender))
  return isKnown && new Set(senders).size === senders.length ? senders : null
}

function tryParseSeconds(value) {
  const match = /^(\d{1,6})(s|m|h)$/.exec(value)
  const seconds = match === null ? 0 : Number(match[1]) * { s: 1, m: 60, h: 3_600 }[match[2]]
  return seconds > 0 ? seconds : null
}
