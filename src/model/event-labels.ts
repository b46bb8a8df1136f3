/**
 * The labels of every event besides its payload: its level, one of six words, and the service that
 * it is from. They are columns of the projection, because histograms, facets and most queries use
 * them. The payload keeps what was sent.
 *
 * A label is read from the first of its fields that has one; names of fields are known in any case
 * of letters. Levels are recognised by a closed table of spellings, in any case, numbers by their
 * digits; what surrounds a word for people's eyes does not count: see `cleanLevel`. Other values
 * give no level.
 */

/** Least severe first. */
export const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const

export type Level = (typeof LEVELS)[number]

/**
 * Paths of fields that may say the level, best first: of pino, bunyan, winston, GELF, ECS, Serilog
 * (`@l`), hclog (`@level`), Monolog (`level_name`), Python (`levelname`), OTLP, logstash, .NET,
 * Loki.
 */
export const LEVEL_FIELDS = [
  'level',
  'severity',
  'severity_text',
  'severityText',
  'log.level',
  'levelname',
  'level_name',
  'lvl',
  'logLevel',
  'log_level',
  '@l',
  '@level',
  'severity_label',
  'severity_name',
  'syslog_severity',
  'log.syslog.severity.name',
  'detected_level',
] as const

/**
 * Fields that say a level only in words: zap's `L`, which may as well be a length, and `priority`
 * and numbers of Application Insights, of which 1 is not the worst.
 */
export const LEVEL_WORD_FIELDS = ['severityLevel', 'L'] as const
export const LEVEL_WORD_CHARS_MIN = 3

/** The journal's, in capitals only: other priorities are not levels. Syslog's numbers 0 to 7. */
export const PRIORITY_FIELD = 'PRIORITY'

/** OTLP's severity number: four per level, from 1 to 24. Read last. */
export const SEVERITY_NUMBER_FIELDS = ['severity_number', 'severityNumber'] as const
export const SEVERITY_NUMBERS_A_LEVEL = 4

/** Paths of fields that may name the service, best first. */
export const SERVICE_FIELDS = [
  'service.name',
  'service',
  'resource.service.name',
  'resource.attributes.service.name',
  'service_name',
  'serviceName',
  'app',
  'application',
  'app_name',
  'appName',
  'app-name',
  'program',
  'programname',
  'SYSLOG_IDENTIFIER',
  'log.syslog.appname',
  'kubernetes.labels.app',
  'kubernetes.labels.app.kubernetes.io/name',
] as const

const serviceFields: ReadonlySet<string> = new Set(SERVICE_FIELDS.map(lowerAscii))

/** Whether the path may name the service, in any case of letters. */
export function isServiceField(path: string): boolean {
  return serviceFields.has(lowerAscii(path))
}

/** Only ASCII's letters have cases here: the names have no others. */
export function lowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
}

/**
 * A name in the cases that are looked for by whoever cannot compare without case: as it is listed,
 * capitalised, in capitals, in small letters. Best first.
 */
export function caseVariants(path: string): readonly string[] {
  const capitalised = path.slice(0, 1).toUpperCase() + path.slice(1)
  return [...new Set([path, capitalised, path.toUpperCase(), path.toLowerCase()])]
}

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

/** Longer texts are no levels, whatever is around the word. */
export const LEVEL_TEXT_CHARS_MAX = 64

/** Colours of a terminal, also where the escape character was lost; and brackets around a word. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals have it.
const COLOURS = /\x1b?\[[0-9;]*m/g
const AROUND = /^[ \t\r\n[\]()<>:]+|[ \t\r\n[\]()<>:]+$/g

/** A level's word without blanks, brackets, a colon and colours around it, in small letters. */
export function cleanLevel(text: string): string {
  if (text.length > LEVEL_TEXT_CHARS_MAX) return ''
  return text.replaceAll(COLOURS, '').replaceAll(AROUND, '').toLowerCase()
}

const bySpelling: ReadonlyMap<string, Level> = new Map(SPELLED_LEVELS)

/** A string's characters, or a number as JSON has it. */
export interface LevelText {
  readonly isNumber: boolean
  readonly text: string
}

const READ_FIELDS = LEVEL_FIELDS.flatMap(caseVariants)
const READ_WORD_FIELDS = LEVEL_WORD_FIELDS.flatMap(caseVariants)
const READ_NUMBER_FIELDS = SEVERITY_NUMBER_FIELDS.flatMap(caseVariants)

/** An event's level; `textAt` returns undefined where there is no string or number. */
export function readLevel(textAt: (path: string) => LevelText | undefined): Level | undefined {
  const levelAt = (path: string) => bySpelling.get(cleanLevel(textAt(path)?.text ?? ''))
  for (const path of READ_FIELDS) {
    const level = levelAt(path)
    if (level !== undefined) return level
  }
  for (const path of READ_WORD_FIELDS) {
    if (isLevelWord(cleanLevel(textAt(path)?.text ?? ''))) return levelAt(path)
  }
  if (/^[0-7]$/.test(textAt(PRIORITY_FIELD)?.text ?? '')) return levelAt(PRIORITY_FIELD)
  for (const path of READ_NUMBER_FIELDS) {
    const severity = textAt(path)
    const number = severity?.isNumber ? Number(severity.text) : Number.NaN
    const level = LEVELS[Math.ceil(number / SEVERITY_NUMBERS_A_LEVEL) - 1]
    if (level !== undefined) return level
  }
  return undefined
}

/** Whether a field of `LEVEL_WORD_FIELDS` may say a level by it. */
function isLevelWord(cleaned: string): boolean {
  return (
    cleaned.length >= LEVEL_WORD_CHARS_MIN && bySpelling.has(cleaned) && !/^[0-9]/.test(cleaned)
  )
}
