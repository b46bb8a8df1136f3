/**
 * The labels of every event besides its payload: its level, one of six words, and the service that
 * it is from. They are columns of the projection, because histograms, facets and most queries use
 * them. The payload keeps what was sent.
 *
 * A label is read from the first of its fields that has one. Levels are recognised by a closed
 * table of spellings, in upper or lower case, numbers by their digits. Other values give no level.
 */

/** Least severe first. */
export const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const

export type Level = (typeof LEVELS)[number]

/** Paths of fields that may say the level, best first. */
export const LEVEL_FIELDS = [
  'level',
  'severity',
  'severity_text',
  'log.level',
  'levelname',
  'lvl',
] as const

/** OTLP's severity number: four per level, from 1 to 24. Read last. */
export const SEVERITY_NUMBER_FIELD = 'severity_number'
export const SEVERITY_NUMBERS_A_LEVEL = 4

/** Paths of fields that may name the service, best first. */
export const SERVICE_FIELDS = [
  'service.name',
  'service',
  'resource.service.name',
  'app',
  'kubernetes.labels.app',
] as const

/**
 * Spellings by level, in lower case, from what loggers write: syslog (words, and 0 to 7 as GELF
 * sends them), pino and bunyan (10 to 60), Monolog (100 to 600), OTLP (`INFO2`), java.util.logging,
 * .NET and Serilog with their short forms, glog's letters, PostgreSQL, Rails, winston, loguru.
 */
export const LEVEL_SPELLINGS = {
  trace: 'trace trace2 trace3 trace4 trce trc t verbose vrb v silly finest finer 10',
  debug: 'debug debug1 debug2 debug3 debug4 debug5 dbug dbg d fine config 7 20 100',
  info:
    'info info2 info3 info4 information informational inf i notice log http success ' +
    '5 6 30 200 250',
  warn: 'warn warn2 warn3 warn4 warning wrn w 4 40 300',
  error: 'error error2 error3 error4 err eror e fail severe 3 50 400',
  fatal:
    'fatal fatal2 fatal3 fatal4 ftl f critical crit crt alert emergency emerg panic dpanic ' +
    '0 1 2 60 500 550 600',
} as const satisfies Record<Level, string>

/** Pairs of a spelling and its level. */
export const SPELLED_LEVELS: readonly (readonly [spelling: string, level: Level])[] =
  LEVELS.flatMap((level) => {
    return LEVEL_SPELLINGS[level].split(' ').map((spelling) => [spelling, level] as const)
  })

const bySpelling: ReadonlyMap<string, Level> = new Map(SPELLED_LEVELS)

/** A string's characters, or a number as JSON has it. */
export interface LevelText {
  readonly isNumber: boolean
  readonly text: string
}

/** An event's level; `textAt` returns undefined where there is no string or number. */
export function readLevel(textAt: (path: string) => LevelText | undefined): Level | undefined {
  for (const path of LEVEL_FIELDS) {
    const level = bySpelling.get(textAt(path)?.text.toLowerCase() ?? '')
    if (level !== undefined) return level
  }
  const severity = textAt(SEVERITY_NUMBER_FIELD)
  const number = severity?.isNumber ? Number(severity.text) : Number.NaN
  return LEVELS[Math.ceil(number / SEVERITY_NUMBERS_A_LEVEL) - 1]
}
