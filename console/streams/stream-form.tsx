/** A stream's settings: of a new one, or of one that is there. */
import { useSignal } from '@preact/signals'
import { callJson } from '../base/api.ts'
import type { StreamInfo } from '../base/stream.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Failure } from '../parts/failure.tsx'
import { PathsField } from '../parts/field-input.tsx'
import { CheckField, TextField } from '../parts/form.tsx'
import { useSubmit } from '../parts/submit.ts'

const RETENTION_PRESETS = ['3d', '7d', '30d', '90d', '1y']

interface StreamFormProps {
  /** Undefined: a new one. */
  readonly stream?: StreamInfo
  readonly onSaved: (stream: StreamInfo) => Promise<void>
  readonly onClose: () => void
}

export function StreamForm({ stream, onSaved, onClose }: StreamFormProps) {
  const draft = useSignal(draftOf(stream))
  const change = (changes: Partial<Draft>) => {
    draft.value = { ...draft.value, ...changes }
  }
  const { onSubmit, isBusy, failure } = useSubmit(async () => {
    const body = settingsOf(draft.value)
    const saved = await (stream === undefined
      ? callJson<StreamInfo>('streams', { method: 'POST', body })
      : callJson<StreamInfo>(`streams/${stream.id}`, { method: 'PATCH', body }))
    await onSaved(saved)
  })
  const title = stream === undefined ? 'New stream' : `Settings of ${stream.name}`
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={onSubmit}>
        <Basics draft={draft.value} change={change} />
        <details open={stream !== undefined}>
          <summary>Redaction, caps and budgets</summary>
          <Transforms draft={draft.value} change={change} streamId={stream?.id} />
          <Caps draft={draft.value} change={change} />
        </details>
        {failure !== undefined && <Failure text={failure} />}
        <div class="buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={isBusy}>
            {stream === undefined ? 'Create stream' : 'Save'}
          </button>
        </div>
      </form>
    </Dialog>
  )
}

interface PartProps {
  readonly draft: Draft
  readonly change: (changes: Partial<Draft>) => void
}

function Basics({ draft, change }: PartProps) {
  return (
    <>
      <TextField
        label="Name"
        value={draft.name}
        required
        autoFocus
        onInput={(name) => change({ name })}
      />
      <TextField
        label="Keep events for"
        value={draft.retention}
        required
        onInput={(retention) => change({ retention })}
        hint={
          <span class="presets">
            {RETENTION_PRESETS.map((preset) => (
              <button
                key={preset}
                type="button"
                class="small"
                aria-pressed={draft.retention === preset}
                onClick={() => change({ retention: preset })}
              >
                {preset}
              </button>
            ))}
          </span>
        }
      />
    </>
  )
}

interface TransformsProps extends PartProps {
  /** Undefined: a new stream, which may get the fields that others have. */
  readonly streamId: string | undefined
}

function Transforms({ draft, change, streamId }: TransformsProps) {
  return (
    <>
      <CheckField
        label="Redact secrets"
        checked={draft.redact}
        onChange={(redact) => change({ redact })}
        hint="Passwords, tokens and keys are replaced before anything is stored."
      />
      <PathsField
        label="More paths to redact"
        streamId={streamId}
        kind={ALL_PATHS}
        value={draft.redactFields}
        onInput={(redactFields) => change({ redactFields })}
        hint="Separated by commas: user.card, items[].card"
      />
      <PathsField
        label="Text fields"
        streamId={streamId}
        kind={STRINGS}
        value={draft.textFields}
        onInput={(textFields) => change({ textFields })}
        hint="Searched word by word; the first of them is an event's line. Empty: message and its like."
      />
      <CheckField
        label="Parse user agents"
        checked={draft.userAgents}
        onChange={(userAgents) => change({ userAgents })}
        hint="Adds browser, system and device beside user-agent fields."
      />
      <CheckField
        label="Keep the context of OTLP records"
        checked={draft.keepsContext}
        onChange={(keepsContext) => change({ keepsContext })}
        hint="Adds attributes, resource, severity and ids to bodies that are objects."
      />
    </>
  )
}

const ALL_PATHS = { objects: true }
const STRINGS = { type: 'string', isCounted: true }

function Caps({ draft, change }: PartProps) {
  return (
    <>
      <TextField
        label="At most this many bytes stored"
        type="number"
        value={draft.maxBytes}
        onInput={(maxBytes) => change({ maxBytes })}
        hint="The oldest events go first. Empty: no limit."
      />
      <TextField
        label="At most this many events a second"
        type="number"
        value={draft.rate}
        onInput={(rate) => change({ rate })}
        hint="More is refused with 429. Empty: no limit."
      />
      <TextField
        label="At most this many bytes a second"
        type="number"
        value={draft.byteRate}
        onInput={(byteRate) => change({ byteRate })}
        hint="Empty: no limit."
      />
      <fieldset class="caps">
        <legend>Schema: how much is learned of it</legend>
        <TextField
          label="Fields, warn from"
          type="number"
          value={draft.fieldSoft}
          onInput={(fieldSoft) => change({ fieldSoft })}
        />
        <TextField
          label="Fields, at most"
          type="number"
          value={draft.fieldHard}
          onInput={(fieldHard) => change({ fieldHard })}
        />
        <TextField
          label="Shapes, warn from"
          type="number"
          value={draft.shapeSoft}
          onInput={(shapeSoft) => change({ shapeSoft })}
        />
        <TextField
          label="Shapes, at most"
          type="number"
          value={draft.shapeHard}
          onInput={(shapeHard) => change({ shapeHard })}
        />
        <p class="hint">Past them events are stored all the same. Up to 10,000.</p>
      </fieldset>
    </>
  )
}

interface Draft {
  readonly name: string
  readonly retention: string
  readonly redact: boolean
  readonly redactFields: string
  readonly userAgents: boolean
  readonly keepsContext: boolean
  readonly maxBytes: string
  readonly rate: string
  readonly byteRate: string
  readonly textFields: string
  readonly fieldSoft: string
  readonly fieldHard: string
  readonly shapeSoft: string
  readonly shapeHard: string
}

function draftOf(stream: StreamInfo | undefined): Draft {
  return {
    name: stream?.name ?? '',
    retention: stream?.retention ?? '30d',
    redact: stream?.redact_sensitive ?? false,
    redactFields: stream?.redact_fields.join(', ') ?? '',
    userAgents: stream?.parse_user_agents ?? false,
    keepsContext: stream?.otlp_context === 'keep',
    maxBytes: textOf(stream?.max_stored_bytes),
    rate: textOf(stream?.rate_budget),
    byteRate: textOf(stream?.byte_budget),
    textFields: stream?.text_fields?.join(', ') ?? '',
    fieldSoft: textOf(stream?.field_soft_cap),
    fieldHard: textOf(stream?.field_hard_cap),
    shapeSoft: textOf(stream?.shape_soft_cap),
    shapeHard: textOf(stream?.shape_hard_cap),
  }
}

function settingsOf(draft: Draft) {
  return {
    name: draft.name.trim(),
    retention: draft.retention.trim(),
    redact_sensitive: draft.redact,
    redact_fields: listOf(draft.redactFields),
    parse_user_agents: draft.userAgents,
    otlp_context: draft.keepsContext ? 'keep' : 'drop',
    max_stored_bytes: numberOf(draft.maxBytes),
    rate_budget: numberOf(draft.rate),
    byte_budget: numberOf(draft.byteRate),
    ...(listOf(draft.textFields).length > 0 && { text_fields: listOf(draft.textFields) }),
    ...(draft.fieldSoft !== '' && { field_soft_cap: Number(draft.fieldSoft) }),
    ...(draft.fieldHard !== '' && { field_hard_cap: Number(draft.fieldHard) }),
    ...(draft.shapeSoft !== '' && { shape_soft_cap: Number(draft.shapeSoft) }),
    ...(draft.shapeHard !== '' && { shape_hard_cap: Number(draft.shapeHard) }),
  }
}

function listOf(text: string): string[] {
  return text
    .split(',')
    .map((path) => path.trim())
    .filter((path) => path !== '')
}

function textOf(value: number | null | undefined): string {
  return value === null || value === undefined ? '' : String(value)
}

function numberOf(text: string): number | null {
  return text.trim() === '' ? null : Number(text)
}
