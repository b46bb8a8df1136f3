/**
 * `_trace_id` and `_span_id`: what an OTLP record said beside a structured body, or what a string
 * of the event says under one of the usual names. An event may have it in several places; any of
 * them will do.
 */
import type { SystemFieldName, Test, ValueTest } from './query-tree.ts'

export type TraceFieldName = '_trace_id' | '_span_id'

/** The usual names, as paths. */
export const TRACE_PATHS = {
  _trace_id: [
    'trace_id',
    'traceId',
    'trace.id',
    'traceid',
    'traceID',
    'TraceId',
    'otelTraceID',
    'dd.trace_id',
  ],
  _span_id: [
    'span_id',
    'spanId',
    'span.id',
    'spanid',
    'spanID',
    'SpanId',
    'otelSpanID',
    'dd.span_id',
  ],
} as const satisfies Record<TraceFieldName, readonly string[]>

export function isTraceField(name: SystemFieldName): name is TraceFieldName {
  return name === '_trace_id' || name === '_span_id'
}

/** What to ask of the event's strings, any of it: an id as it is written, and in its digits. */
export function traceTests(test: Test): readonly Test[] {
  const { start, end } = test
  if (test.kind === 'exists') {
    const pattern = [{ kind: 'one' }, { kind: 'many' }] as const
    return [{ kind: 'wildcard', pattern, isWhole: true, start, end }]
  }
  if (test.kind !== 'value') return [test]
  const texts = new Set([test.value.text, idDigits(test)])
  return [...texts].map((text) => {
    return { ...test, isWhole: true, value: { ...test.value, kind: 'string', text } }
  })
}

/** The id that is asked for, as lower-case hexadecimal digits: also of a UUID. */
export function idDigits({ value: { text } }: ValueTest): string {
  const isUuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
  return (isUuid ? text.replaceAll('-', '') : text).toLowerCase()
}
