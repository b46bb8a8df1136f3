import { useSignal } from '@preact/signals'
import { visibleLine } from '../../src/language/visible-text.ts'
import type { FieldKind } from '../base/catalog.ts'
import { CLOCK_NAMES, CLOCKS } from '../base/clock.ts'
import { type Loaded, useLoaded } from '../base/loaded.ts'
import { href } from '../base/route.ts'
import { streams } from '../base/stream.ts'
import { FUNCTIONS, isOfEvents } from '../base/view.ts'
import { FieldInput } from '../parts/field-input.tsx'
import { CheckField, Field, TextField } from '../parts/form.tsx'
import { type ChannelInfo, loadChannels } from './channels.tsx'
import { Choice } from './choice.tsx'
import type { RuleInfo } from './rule.ts'
import { type Draft, OPERATORS, SEVERITIES } from './rule-draft.ts'

interface PartProps {
  readonly draft: Draft
  readonly change: (changes: Partial<Draft>) => void
}

const COUNTED: FieldKind = { isCounted: true }
const NUMBERS: FieldKind = { isCounted: true, type: 'number' }
const OWN = ['_level', '_service', '_stream']
const WINDOWS = ['1m', '5m', '15m', '1h'] as const
const SEVERAL = 'several'

interface BasicProps extends PartProps {
  /** Undefined: a new one. */
  readonly rule: RuleInfo | undefined
}

/** Of which stream fields are proposed. */
function fieldsOf({ streams: chosen }: Draft): string | undefined {
  return chosen !== '*' && chosen.length === 1 ? chosen[0] : undefined
}

export function BasicFields({ draft, change, rule }: BasicProps) {
  return (
    <>
      {rule === undefined && (
        <TextField
          label="Name"
          value={draft.name}
          required
          hint="Letters, digits, _ . -"
          onInput={(name) => change({ name })}
        />
      )}
      <Streams draft={draft} change={change} />
      <TextField
        label="Query"
        lines={2}
        value={draft.query}
        hint="All events when empty"
        onInput={(query) => change({ query })}
      />
      <Condition draft={draft} change={change} />
      <Field
        label="Each group by itself"
        hint="Fields with commas between them; none: all together"
      >
        {({ id, hintId }) => (
          <FieldInput
            id={id}
            hintId={hintId}
            value={draft.by}
            streamId={fieldsOf(draft)}
            kind={COUNTED}
            own={OWN}
            isList
            placeholder="such as service"
            onInput={(by) => change({ by })}
          />
        )}
      </Field>
      <Tells draft={draft} change={change} rule={rule} />
    </>
  )
}

function Streams({ draft, change }: PartProps) {
  const { streams: chosen } = draft
  const all = streams.value ?? []
  const isMany = useSignal(chosen !== '*' && chosen.length > 1)
  const isSeveral = isMany.value && chosen !== '*'
  const value = chosen === '*' ? '*' : isSeveral ? SEVERAL : chosen[0]!
  const options: [string, string][] = all.map(({ id, name }) => [id, visibleLine(name)])
  const isKnown = isSeveral || value === '*' || options.some(([id]) => id === value)
  return (
    <>
      <Choice
        label="Stream"
        value={value}
        options={[
          ['*', 'All streams'],
          [SEVERAL, 'Several…'],
          ...options,
          ...(isKnown ? [] : ([[value, `stream ${value}`]] as const)),
        ]}
        onChange={(id) => {
          isMany.value = id === SEVERAL
          const kept = chosen === '*' ? [] : chosen
          change({ streams: id === '*' ? '*' : id === SEVERAL ? kept : [id] })
        }}
      />
      {isSeveral && (
        <fieldset class="some-streams">
          <legend class="unseen">Which streams</legend>
          {all.map(({ id, name }) => (
            <CheckField
              key={id}
              label={visibleLine(name)}
              checked={chosen.includes(id)}
              onChange={(isIn) => {
                const others = chosen.filter((one) => one !== id)
                change({ streams: isIn ? [...others, id] : others })
              }}
            />
          ))}
        </fieldset>
      )}
    </>
  )
}

function Condition({ draft, change }: PartProps) {
  const needsField = !isOfEvents(draft.fn)
  return (
    <fieldset class="choice">
      <legend>Fires when</legend>
      <div class="inline">
        <Plain
          label="Figure"
          value={draft.fn}
          options={FUNCTIONS}
          onChange={(fn) => change({ fn })}
        />
        {needsField && (
          <FieldInput
            label="Field of the figure"
            value={draft.of}
            required
            placeholder="of, such as took_ms"
            streamId={fieldsOf(draft)}
            kind={draft.fn === 'uniq' ? COUNTED : NUMBERS}
            onInput={(of) => change({ of })}
          />
        )}
        <Plain
          label="Comparison"
          value={draft.op}
          options={OPERATORS}
          onChange={(op) => change({ op })}
        />
        <Short label="Threshold" value={draft.value} onInput={(value) => change({ value })} />
      </div>
      <div class="inline">
        in
        <Short
          label="Windows in which it holds"
          value={draft.ofWindows}
          onInput={(ofWindows) => change({ ofWindows })}
        />
        of
        <Short
          label="Windows that are looked at"
          value={draft.inWindows}
          onInput={(inWindows) => change({ inWindows })}
        />
        windows of
        <Short label="Window" value={draft.window} onInput={(window) => change({ window })} />
        {WINDOWS.map((one) => (
          <button
            key={one}
            type="button"
            class="small"
            aria-pressed={draft.window === one}
            onClick={() => change({ window: one })}
          >
            {one}
          </button>
        ))}
      </div>
    </fieldset>
  )
}

interface PlainProps {
  readonly label: string
  readonly value: string
  readonly options: readonly string[]
  readonly onChange: (value: string) => void
}

function Plain({ label, value, options, onChange }: PlainProps) {
  const all = options.includes(value) ? options : [...options, value]
  return (
    <select
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      {all.map((one) => (
        <option key={one}>{one}</option>
      ))}
    </select>
  )
}

interface ShortProps {
  readonly label: string
  readonly value: string
  readonly onInput: (value: string) => void
}

function Short({ label, value, onInput }: ShortProps) {
  return (
    <input
      aria-label={label}
      value={value}
      size={5}
      required
      spellcheck={false}
      onInput={(event) => onInput(event.currentTarget.value)}
    />
  )
}

function Tells({ draft, change, rule }: BasicProps) {
  const owner = rule?.owner
  const key = `channels ${owner}`
  const channels = useLoaded(key, (signal) => loadChannels(signal, owner))
  return (
    <>
      <div class="pair">
        <Choice
          label="Severity"
          value={draft.severity}
          options={SEVERITIES.map((one) => [one, one])}
          onChange={(severity) => change({ severity })}
        />
        <TextField
          label="Told again every"
          value={draft.repeat}
          hint="While it fires; 0s: never"
          onInput={(repeat) => change({ repeat })}
        />
      </div>
      <ChannelChoice draft={draft} change={change} channels={channels} />
      <Choice
        label="A window without events"
        value={draft.noData}
        options={[
          ['ok', 'is judged: a count is 0'],
          ['fire', 'fires'],
          ['keep', 'is as the one before'],
        ]}
        onChange={(noData) => change({ noData: noData as Draft['noData'] })}
      />
    </>
  )
}

interface ChannelsProps extends PartProps {
  readonly channels: Loaded<readonly ChannelInfo[]>
}

/** Those that there are, and those that the rule names all the same. */
function ChannelChoice({ draft, change, channels: { value, failure } }: ChannelsProps) {
  const known = (value ?? []).map(({ name }) => name)
  const gone = draft.channels.filter((name) => !known.includes(name))
  return (
    <fieldset class="choice">
      <legend>Tells</legend>
      {failure !== undefined && <p class="hint">{failure}</p>}
      {value?.length === 0 && (
        <p class="hint">
          There is no channel yet, so nobody is told:{' '}
          <a href={href('alerts', undefined, { tab: 'channels' })}>make one</a>.
        </p>
      )}
      {[...known, ...gone].map((name) => (
        <CheckField
          key={name}
          label={visibleLine(name)}
          {...(value !== undefined && gone.includes(name) && { hint: 'There is no such channel.' })}
          checked={draft.channels.includes(name)}
          onChange={(isIn) => {
            const others = draft.channels.filter((one) => one !== name)
            change({ channels: isIn ? [...others, name] : others })
          }}
        />
      ))}
    </fieldset>
  )
}

/** What the figure is of, and what it is divided by. */
function Figure({ draft, change }: PartProps) {
  const options: [string, string][] = [
    ['none', 'as it is'],
    ['share', 'as a share: divided by the count of all that the query finds'],
    ['before', 'divided by what it was some time before'],
    ...(draft.relative === 'kept' ? [['kept', 'as the API has it'] as [string, string]] : []),
  ]
  return (
    <>
      <TextField
        label="The figure is only of"
        value={draft.counts}
        placeholder="status:>=500"
        hint="A query beside that of the rule: what fails, of all requests"
        onInput={(counts) => change({ counts })}
      />
      <div class="pair">
        <Choice
          label="The figure is compared"
          value={draft.relative}
          options={options}
          onChange={(relative) => change({ relative: relative as Draft['relative'] })}
        />
        {draft.relative === 'before' && (
          <TextField
            label="Before by"
            value={draft.before}
            hint="A multiple of what a window ends every"
            onInput={(before) => change({ before })}
          />
        )}
      </div>
    </>
  )
}

export function AdvancedFields({ draft, change }: PartProps) {
  return (
    <>
      <Figure draft={draft} change={change} />
      <TextField
        label="What it is for"
        value={draft.description}
        onInput={(description) => change({ description })}
      />
      <div class="pair">
        <TextField
          label="A window ends every"
          value={draft.every}
          placeholder={draft.window}
          hint="Less than a window: windows overlap"
          onInput={(every) => change({ every })}
        />
        <TextField
          label="Windows for which it goes on to fire"
          value={draft.keepFiring}
          onInput={(keepFiring) => change({ keepFiring })}
        />
      </div>
      <div class="pair">
        <Choice
          label="Windows are of"
          value={draft.basis}
          options={CLOCKS.map((clock) => [clock, CLOCK_NAMES[clock]])}
          onChange={(basis) => change({ basis: basis as Draft['basis'] })}
        />
        {draft.basis === 'event_time' && (
          <TextField
            label="Decided after its end by"
            value={draft.delay}
            placeholder="1m"
            hint="For what comes late"
            onInput={(delay) => change({ delay })}
          />
        )}
      </div>
      <CheckField
        label="Tells when it is resolved, too"
        checked={draft.sendsResolved}
        onChange={(sendsResolved) => change({ sendsResolved })}
      />
      <TextField
        label="Labels, for who routes messages"
        lines={2}
        value={draft.labels}
        placeholder="team: payments"
        onInput={(labels) => change({ labels })}
      />
      <TextField
        label="Annotations, for who reads them"
        lines={2}
        value={draft.annotations}
        placeholder="runbook: https://…"
        onInput={(annotations) => change({ annotations })}
      />
    </>
  )
}
