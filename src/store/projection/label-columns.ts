/**
 * The columns `level` and `service` in SQL, as workers compute them
 * (`workers/facts/event-labels.ts`). Tables from before these columns use this for their old rows,
 * from the payload, until a merge writes the columns. A test checks that both agree.
 */
import { SERVICE_BYTES_MAX } from '../../limits.ts'
import {
  LEVEL_FIELDS,
  LEVELS,
  SERVICE_FIELDS,
  SEVERITY_NUMBER_FIELD,
  SEVERITY_NUMBERS_A_LEVEL,
  SPELLED_LEVELS,
} from '../../model/event-labels.ts'
import { quoteFieldPath } from '../../model/field-path.ts'

const TYPE = 'LowCardinality(String)'

/** A column's definition for an ALTER of an old table. */
export const LABEL_COLUMNS = [
  ['level', `${TYPE} DEFAULT ${levelSql()}`, 'shape'],
  ['service', `${TYPE} DEFAULT ${serviceSql()}`, 'level'],
] as const

/** The level of a row, from its payload. */
export function levelSql(): string {
  const texts = LEVEL_FIELDS.map((path) => {
    const value = `payload.${quoteFieldPath(path)}`
    return `ifNull(${value}.:String, ifNull(toString(${value}.:Int64), ''))`
  })
  const spellings = SPELLED_LEVELS.map(([spelling]) => `'${spelling}'`)
  const levels = SPELLED_LEVELS.map(([, level]) => `'${level}'`)
  const number = `ifNull(payload.${quoteFieldPath(SEVERITY_NUMBER_FIELD)}.:Int64, 0)`
  const numbered = LEVELS.map((level) => `'${level}'`).join(', ')
  const indexed = `intDiv(${number} + ${SEVERITY_NUMBERS_A_LEVEL - 1}, ${SEVERITY_NUMBERS_A_LEVEL})`
  const numberMax = LEVELS.length * SEVERITY_NUMBERS_A_LEVEL
  return (
    "arrayFirst(x -> x != '', arrayPushBack(arrayMap(x -> transform(lower(x), " +
    `[${spellings.join(', ')}], [${levels.join(', ')}], ''), [${texts.join(', ')}]), ` +
    `if(${number} BETWEEN 1 AND ${numberMax}, [${numbered}][${indexed}], '')))`
  )
}

/** The service of a row, from its payload. */
export function serviceSql(): string {
  const texts = SERVICE_FIELDS.map((path) => {
    return `ifNull(payload.${quoteFieldPath(path)}.:String, '')`
  })
  return `arrayFirst(x -> x != '' AND length(x) <= ${SERVICE_BYTES_MAX}, [${texts.join(', ')}])`
}
