/** Tests of the system fields: these have columns of their own, and are absent where empty. */
import type { Bound, RangeTest, SystemFieldName, Test } from '../../../language/query-tree.ts'
import { levelsInRange } from '../../../language/scalar.ts'
import { idDigits } from '../../../language/trace-fields.ts'
import { tryParseEventId } from '../../../model/event-id.ts'
import { CONTEXT_IDS, CONTEXT_SERVICE_AT } from '../../../model/projection.ts'
import { floorMs } from '../../../model/rfc3339.ts'
import { segmentIdMs } from '../../../model/segment-id.ts'
import { bothBounds } from './both-bounds.ts'
import { compileTest } from './compile-test.ts'
import { nsBoundSql } from './ns-bound.ts'
import type { SqlParams } from './sql-params.ts'

/** As `compileQuery`. Precondition: `readSystemTest` gave the test. */
export function compileSystemTest(name: SystemFieldName, test: Test, params: SqlParams): string {
  switch (name) {
    case '_id':
      return test.kind === 'value' ? compileId(test.value.text, params) : 'true'
    case '_ingested_at':
      return test.kind === 'range' ? compileReceipt(test, params) : 'true'
    case '_event_time':
      return test.kind === 'range' ? compileEventTime(test, params) : 'true'
    case '_shape':
      return test.kind === 'value'
        ? `shape = ${params.add('UInt64', String(BigInt(`0x${test.value.text}`)))}`
        : 'true'
    case '_pattern':
      return compilePattern(test, params)
    case '_level':
      if (test.kind === 'range') {
        const levels = levelsInRange(test)
        return levels.length === 0 ? 'false' : `level IN (${params.add('Array(String)', levels)})`
      }
      return compileLabel('level', test, params)
    case '_service':
      return compileLabel('service', test, params)
    case '_trace_id':
    case '_span_id':
      return compileGivenId(name, test, params)
  }
}

/** Of an id that came with the protocol: see `model/projection.ts`. */
function compileGivenId(name: keyof typeof CONTEXT_IDS, test: Test, params: SqlParams): string {
  const { at, bytes } = CONTEXT_IDS[name]
  const id = `substring(context, ${at + 1}, ${bytes})`
  if (test.kind === 'value') {
    const digits = idDigits(test)
    const isId = digits.length === 2 * bytes && /^[0-9a-f]+$/.test(digits) && !/^0+$/.test(digits)
    return isId ? `${id} = unhex(${params.add('String', digits)})` : 'false'
  }
  const isOther = `${id} != unhex('${'00'.repeat(bytes)}')`
  const isGiven = `(length(context) >= ${CONTEXT_SERVICE_AT} AND ${isOther})`
  if (test.kind === 'exists') return isGiven
  const column = { sql: `lower(hex(${id}))`, type: 'String' } as const
  const condition = compileTest(test, column, false, params)
  return condition === undefined ? 'false' : `(${isGiven} AND ${condition})`
}

/** Events without one have 0. */
function compilePattern(test: Test, params: SqlParams): string {
  if (test.kind !== 'value') return 'pattern != 0'
  const pattern = BigInt(`0x${test.value.text}`)
  return pattern === 0n ? 'false' : `pattern = ${params.add('UInt64', String(pattern))}`
}

function compileLabel(column: string, test: Test, params: SqlParams): string {
  if (test.kind === 'exists') return `${column} != ''`
  if (test.kind === 'value' && test.value.text === '') return 'false'
  const condition = compileTest(test, { sql: column, type: 'String' }, false, params)
  if (condition === undefined) return 'false'
  return test.kind === 'value' ? condition : `(${column} != '' AND ${condition})`
}

/** The id holds the receipt time, by which the primary key finds the row. */
function compileId(text: string, params: SqlParams): string {
  const id = tryParseEventId(text)
  if (id === undefined) return 'false'
  const ms = params.add('Int64', String(segmentIdMs(id.segmentId)))
  const segment = params.add('UInt64', String(id.segmentId))
  const ordinal = params.add('UInt32', id.ordinal)
  return `(ingested_at = fromUnixTimestamp64Milli(${ms}, 'UTC')
    AND segment_id = ${segment} AND ordinal = ${ordinal})`
}

const NS_PER_MS = 1_000_000n

/** Receipt is known to the millisecond: a bound between two of them is moved to the next. */
function compileReceipt({ low, high }: RangeTest, params: SqlParams): string {
  const condition = bothBounds(low, high, (operator, { value }) => {
    const ns = value.timeNs!
    const floor = floorMs(ns)
    const isBetween = ns !== floor * NS_PER_MS
    const between = operator === '>=' ? '>' : operator === '<' ? '<=' : operator
    const ms = params.add('Int64', String(floor))
    return `ingested_at ${isBetween ? between : operator} fromUnixTimestamp64Milli(${ms}, 'UTC')`
  })
  return condition ?? 'false'
}

function compileEventTime({ low, high }: RangeTest, params: SqlParams): string {
  const compile = (operator: string, { value }: Bound) => {
    return nsBoundSql('event_time', operator, value.timeNs!, params)
  }
  return bothBounds(low, high, compile) ?? 'false'
}
