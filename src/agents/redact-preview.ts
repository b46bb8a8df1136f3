import type { StreamFinder, StreamSource } from '../read/find-streams.ts'
import type { Lane } from '../read/lane.ts'
import { type PreviewRedaction, previewSample } from '../read/redact-preview.ts'
import { readSettings, STREAM_CHANGES } from '../read/stream-settings.ts'
import { type AgentTool, findCallersStream, STREAM_ARG } from './agent-tool.ts'
import { cutStrings, fitRows } from './fit-text.ts'

export interface RedactPreviewToolDeps {
  readonly streams: StreamFinder & StreamSource
  readonly lists: Lane
  readonly preview: PreviewRedaction
}

const { redact_fields } = STREAM_CHANGES.properties
const CHANGES_CHARS_MAX = 8_000

/** What redaction would make of a sample. */
export function redactPreviewTool(deps: RedactPreviewToolDeps): AgentTool {
  return {
    name: 'redact_preview',
    title: 'Preview redaction',
    description:
      'What redaction would make of an event or a string, with a reason for each change. Stores ' +
      'nothing. Uses the fields that the stream redacts, or those of "redact_fields".',
    scope: 'streams:read',
    isReadOnly: true,
    input: {
      type: 'object',
      properties: {
        stream: STREAM_ARG,
        sample: {
          anyOf: [{ type: 'object', properties: {}, additionalProperties: {} }, { type: 'string' }],
          must: 'an object or a string',
          description: 'An event, or a string as it would be in one',
        },
        redact_fields: { ...redact_fields, description: "The stream's own when left out" },
      },
      required: ['stream', 'sample'],
    },
    run: async ({ principal, args, argTexts, signal }) => {
      const stream = await findCallersStream(deps.streams, principal, args.stream)
      const { sample, redact_fields: given } = args
      const settings = readSettings(given === undefined ? {} : { redact_fields: given })
      const fields = settings.redactFields ?? stream.redactFields
      const isText = typeof sample === 'string'
      const text = isText ? sample : (argTexts.get('sample') ?? '{}')
      const found = await deps.lists.run(principal.tokenId, signal, () => {
        return previewSample(deps.preview, { kind: isText ? 'string' : 'event', text }, fields)
      })
      const changes = fitRows(
        found.changes.map((change) => JSON.stringify(change)),
        CHANGES_CHARS_MAX,
      )
      const redacted = fitRows([cutStrings(found.redacted)], 28_000)
      const isCut = redacted.isCut || changes.isCut
      const head = `"redacted":${redacted.json || 'null'},"changes":[${changes.json}]`
      return `{${head},"is_on":${stream.redactSensitive},"truncated":${isCut}}`
    },
  }
}
