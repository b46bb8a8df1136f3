/**
 * Level and service as the engine computes them from the payload: the rules of
 * `workers/facts/event-labels.ts` once more, by other means, for a test to compare with.
 */
import { SERVICE_BYTES_MAX } from '../../../src/limits.ts'
import {
  caseVariants,
  LEVEL_FIELDS,
  LEVEL_TEXT_CHARS_MAX,
  LEVEL_WORD_CHARS_MIN,
  LEVEL_WORD_FIELDS,
  LEVELS,
  PRIORITY_FIELD,
  SERVICE_FIELDS,
  SEVERITY_NUMBER_FIELDS,
  SEVERITY_NUMBERS_A_LEVEL,
  SPELLED_LEVELS,
} from '../../../src/model/event-labels.ts'
import { quoteFieldPath } from '../../../src/model/field-path.ts'

const COLOURS = "'\\\\x1b?\\\\[[0-9;]*m'"
const AROUND = "'^[ \\\\t\\\\r\\\\n\\\\[\\\\]()<>:]+|[ \\\\t\\\\r\\\\n\\\\[\\\\]()<>:]+$'"

/** The level of a row, from its payload. Names of fields in their `caseVariants`. */
export function levelSql(): string {
  const texts = LEVEL_FIELDS.flatMap(caseVariants).map(textSql)
  const words = LEVEL_WORD_FIELDS.flatMap(caseVariants).map(stringSql)
  const priority = textSql(PRIORITY_FIELD)
  const spellings = SPELLED_LEVELS.map(([spelling]) => `'${spelling}'`)
  const levels = SPELLED_LEVELS.map(([, level]) => `'${level}'`)
  const isWord = `length(x) >= ${LEVEL_WORD_CHARS_MIN} AND NOT match(x, '^[0-9]')`
  const cleaned = [
    cleanSql(texts),
    `arrayMap(x -> if(${isWord}, x, ''), ${cleanSql(words)})`,
    `[if(match(${priority}, '^[0-7]$'), ${priority}, '')]`,
  ]
  return (
    `arrayFirst(x -> x != '', arrayConcat(arrayMap(x -> transform(x, [${spellings.join(', ')}], ` +
    `[${levels.join(', ')}], ''), arrayConcat(${cleaned.join(', ')})), ` +
    `[${numberedSql().join(', ')}]))`
  )
}

/** As `cleanLevel` does it. */
function cleanSql(texts: readonly string[]): string {
  const plain = `replaceRegexpAll(x, ${COLOURS}, '')`
  const isShort = `length(x) <= ${LEVEL_TEXT_CHARS_MAX}`
  const clean = `if(${isShort}, lower(replaceRegexpAll(${plain}, ${AROUND}, '')), '')`
  return `arrayMap(x -> ${clean}, [${texts.join(', ')}])`
}

/** The levels that OTLP's numbers say. */
function numberedSql(): string[] {
  const levels = LEVELS.map((level) => `'${level}'`).join(', ')
  const numberMax = LEVELS.length * SEVERITY_NUMBERS_A_LEVEL
  return SEVERITY_NUMBER_FIELDS.flatMap(caseVariants).map((path) => {
    const number = `ifNull(payload.${quoteFieldPath(path)}.:Int64, 0)`
    const rounded = `${number} + ${SEVERITY_NUMBERS_A_LEVEL - 1}`
    const indexed = `intDiv(${rounded}, ${SEVERITY_NUMBERS_A_LEVEL})`
    return `if(${number} BETWEEN 1 AND ${numberMax}, [${levels}][${indexed}], '')`
  })
}

/** The service of a row, from its payload. */
export function serviceSql(): string {
  const texts = SERVICE_FIELDS.flatMap(caseVariants).map(stringSql)
  return `arrayFirst(x -> x != '' AND length(x) <= ${SERVICE_BYTES_MAX}, [${texts.join(', ')}])`
}

function stringSql(path: string): string {
  return `ifNull(payload.${quoteFieldPath(path)}.:String, '')`
}

function textSql(path: string): string {
  const value = `payload.${quoteFieldPath(path)}`
  return `ifNull(${value}.:String, ifNull(toString(${value}.:Int64), ''))`
}
