/** Sends events, or shows what would be stored. */

import { readElementTexts } from '../api/json-text.ts'
import { IngestError } from '../errors.ts'
import {
  IDEMPOTENCY_KEY_BYTES_MAX,
  MCP_INGEST_BYTES_MAX,
  MCP_INGEST_EVENTS_MAX,
} from '../limits.ts'
import type { AgentReport, IngestEvents } from '../model/batch/agent-events.ts'
import type { Stream } from '../model/stream.ts'
import type { StreamFinder, StreamSource } from '../read/find-streams.ts'
import { type PreviewRedaction, previewSample } from '../read/redact-preview.ts'
import { type AgentTool, findCallersStream, STREAM_ARG, type ToolCall } from './agent-tool.ts'
import { cutStrings, fitRows } from './fit-text.ts'

/** What ingest would make of events: reports, and the payloads as they would be stored. */
export type TryEvents = (
  stream: Stream,
  kind: 'json' | 'text',
  body: Uint8Array,
) => Promise<{ readonly report: AgentReport; readonly payloads: readonly string[] }>

export interface IngestEventsDeps {
  readonly streams: StreamFinder & StreamSource
  readonly ingest: IngestEvents
  readonly tryEvents: TryEvents
  readonly preview: PreviewRedaction
}

const CHANGES_CHARS_MAX = 6_000
const EVENT: AgentTool['input'] = { type: 'object', properties: {}, additionalProperties: {} }

export function ingestEventsTool(deps: IngestEventsDeps): AgentTool {
  return {
    name: 'ingest_events',
    title: 'Send events',
    description:
      'Stores events in a stream, for samples and tests: objects in "events", or lines in ' +
      '"text", one event per line. With dry_run nothing is stored, and the answer shows what ' +
      'would be. "redacted" says what redaction changed. A call repeated with the same ' +
      'idempotency_key is stored once.',
    scope: 'events:write',
    isReadOnly: false,
    input: {
      type: 'object',
      properties: {
        stream: STREAM_ARG,
        events: {
          type: 'array',
          items: EVENT,
          minItems: 1,
          maxItems: MCP_INGEST_EVENTS_MAX,
          description: 'JSON objects, one per event',
        },
        text: { type: 'string', minLength: 1, description: 'Lines, one event per line' },
        idempotency_key: {
          type: 'string',
          minLength: 1,
          maxLength: IDEMPOTENCY_KEY_BYTES_MAX,
          pattern: '^[\\x21-\\x7e]+$',
          must: `1 to ${IDEMPOTENCY_KEY_BYTES_MAX} visible ASCII characters`,
          description: 'The same events under the same key are stored once in 24 hours',
        },
        dry_run: { type: 'boolean', default: false, description: 'Show only, store nothing' },
      },
      required: ['stream'],
    },
    run: async (call) => {
      const { principal, args, renew } = call
      const stream = await findCallersStream(deps.streams, principal, args.stream)
      const { kind, body, samples } = readEvents(call)
      if (args.dry_run === true) {
        const { report, payloads } = await deps.tryEvents(stream, kind, body)
        const redacted = await redactions(deps.preview, stream, samples)
        const stored = fitRows(
          payloads.map((row) => cutStrings(row)),
          24_000,
        )
        const { event_ids: _, ...told } = report
        return tell({ ...told, dry_run: true }, redacted, {
          would_store: `[${stored.json}]`,
          truncated: String(stored.isCut),
        })
      }
      const report = await deps.ingest({
        stream,
        kind,
        body,
        idempotencyKey: args.idempotency_key as string | undefined,
        confirm: async () => {
          await findCallersStream(deps.streams, await renew(), String(stream.streamId))
        },
      })
      return tell(report, await redactions(deps.preview, stream, samples), {})
    },
  }
}

function tell(report: object, redacted: string, more: Readonly<Record<string, string>>): string {
  const rest = Object.entries(more).map(([name, json]) => `,"${name}":${json}`)
  return `${JSON.stringify(report).slice(0, -1)},"redacted":[${redacted}]${rest.join('')}}`
}

interface Sample {
  readonly kind: 'event' | 'string'
  readonly text: string
}

/** The events' JSON as it was written. Throws `malformed`, `too_large`. */
function readEvents({ args, argTexts }: ToolCall) {
  const { events, text } = args
  if ((events === undefined) === (text === undefined)) {
    throw new IngestError('malformed', 'give either "events" or "text"')
  }
  const json = argTexts.get('events')
  const lines = String(text ?? '')
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
  if (lines.length > MCP_INGEST_EVENTS_MAX) {
    const limit = `${MCP_INGEST_EVENTS_MAX} (MCP_INGEST_EVENTS_MAX)`
    throw new IngestError('too_large', `"text" has ${lines.length} lines, over ${limit}`)
  }
  const body = Buffer.from(json ?? String(text))
  if (body.length > MCP_INGEST_BYTES_MAX) {
    const limit = `${MCP_INGEST_BYTES_MAX} bytes (MCP_INGEST_BYTES_MAX)`
    throw new IngestError('too_large', `the events are ${body.length} bytes, over ${limit}`)
  }
  const samples: readonly Sample[] =
    json === undefined
      ? lines.map((line) => ({ kind: 'string', text: line }))
      : readElementTexts(json).map((event) => ({ kind: 'event', text: event }))
  return { kind: json === undefined ? ('text' as const) : ('json' as const), body, samples }
}

/** What redaction changes, as rows of JSON: which event, which path, why. */
async function redactions(
  preview: PreviewRedaction,
  { redactSensitive, redactFields }: Stream,
  samples: readonly Sample[],
): Promise<string> {
  if (!redactSensitive) return ''
  const rows: string[] = []
  for (const [index, sample] of samples.entries()) {
    // An event that ingest rejects is reported elsewhere in the answer.
    const found = await previewSample(preview, sample, redactFields).catch(() => undefined)
    for (const { path, reason } of found?.changes ?? []) {
      rows.push(cutStrings(JSON.stringify({ index, path, reason })))
    }
  }
  return fitRows(rows, CHANGES_CHARS_MAX).json
}
