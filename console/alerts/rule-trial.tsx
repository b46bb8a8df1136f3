/**
 * What a rule would have done over the last days, asked of the service's own evaluator while the
 * rule is typed: later changes give up what is under way.
 */
import { useSignal } from '@preact/signals'
import { visibleLine } from '../../src/language/visible-text.ts'
import { formatDuration, tryParseDuration } from '../../src/model/duration.ts'
import { formatCount, formatFigure, formatOf } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { formatTime } from '../base/time.ts'
import { Failure } from '../parts/failure.tsx'
import {
  callGroups,
  type DecidedWindow,
  type GroupValues,
  isCounting,
  type Range,
  type RuleSettings,
} from './rule.ts'
import { valueName, WindowsChart } from './rule-chart.tsx'
import { groupText } from './rule-groups.tsx'
import { WhyLinks } from './why-links.tsx'

const BACK_MS = 7 * 86_400_000
/** The service takes no more in one backtest. */
const WINDOWS_MAX = 11_000
/** At first, as it takes seconds: of groups, which are asked in pieces, and of those that overlap. */
const GROUPED_FIRST = 2_100
const SLIDING_FIRST = 200
const TYPED_MS = 350
const FIRED_SHOWN = 10

interface Changed {
  readonly kind: string
  readonly group: GroupValues
  readonly window: Range
  readonly value: number | null
}

interface Backtest {
  readonly decided_until: string
  readonly gap: Range | null
  readonly windows: readonly DecidedWindow[]
  readonly transitions: readonly Changed[]
  readonly transition_count: number
}

interface Trial extends Backtest {
  readonly settings: RuleSettings
}

interface TrialProps {
  readonly settings?: RuleSettings
  /** Why there is no rule to try. */
  readonly mistake?: string
  readonly onThreshold: (op: string, value: number) => void
}

export function RuleTrial({ settings, mistake, onThreshold }: TrialProps) {
  return (
    <section class="card trial" aria-label="What it would have done">
      <h2>What it would have done</h2>
      {settings === undefined ? (
        <p class="hint">▲ {mistake}</p>
      ) : (
        <Tried settings={settings} onThreshold={onThreshold} />
      )}
    </section>
  )
}

function Tried({ settings, onThreshold }: Required<Omit<TrialProps, 'mistake'>>) {
  // What says who is told has nothing to do with it.
  const { channels: _, labels: __, annotations: ___, description: ____, ...judged } = settings
  const isAll = useSignal(false)
  const backMs = backOf(settings, isAll.value)
  const key = JSON.stringify([judged, backMs])
  const { value, failure, isStale } = useLoaded(key, async (signal) => {
    await pause(TYPED_MS, signal)
    const body = { rule: settings, from: `-${Math.floor(backMs / 1_000)}s` }
    const path = 'alerts/backtest'
    const answer = await callGroups<Backtest>(path, { method: 'POST', body, signal })
    return { ...answer, settings }
  })
  if (failure !== undefined && !isStale) return <Failure text={failure} />
  if (value === undefined) return <p class="quiet">Asking for the last days…</p>
  return (
    <div class={isStale ? 'is-stale' : ''}>
      <Told trial={value} />
      {backMs < backOf(settings, true) && (
        <p>
          <button type="button" class="small" onClick={() => (isAll.value = true)}>
            Look further back, which takes longer
          </button>
        </p>
      )}
      <Proposed trial={value} onThreshold={onThreshold} />
      {value.windows.length > 0 && (
        <WindowsChart rule={value.settings} windows={value.windows} onRange={() => undefined} />
      )}
      <Fired trial={value} />
    </div>
  )
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => setTimeout(resolve, ms))
  signal.throwIfAborted()
}

/** Seven days, or less with windows that are too many for that. */
function backOf({ every, window, group_by: by }: RuleSettings, isAll: boolean): number {
  const everyMs = tryParseDuration(every ?? window) ?? BACK_MS
  const isSliding = every !== undefined && every !== window
  const first = isSliding ? SLIDING_FIRST : by.length > 0 ? GROUPED_FIRST : WINDOWS_MAX
  return Math.min(BACK_MS, ((isAll ? WINDOWS_MAX : first) - 1) * everyMs)
}

function Told({ trial }: { trial: Trial }) {
  const { transitions, transition_count: count, windows, gap } = trial
  const fired = transitions.filter(({ kind }) => kind === 'firing').length
  const [first] = windows
  if (first === undefined) return <p class="quiet">No window is over in this time.</p>
  const spanMs = Date.parse(trial.decided_until) - Date.parse(first.from)
  const days = spanMs >= 86_400_000 ? 86_400_000 : 3_600_000
  return (
    <p role="status">
      <strong class={fired > 0 ? 'bad' : 'good'}>
        {fired === 0
          ? 'Would not have fired'
          : `Would have fired ${count > transitions.length ? 'at least ' : ''}${formatOf(fired, 'time')}`}
      </strong>{' '}
      in the last {formatDuration(Math.round(spanMs / days) * days || 60_000)}:{' '}
      {formatOf(windows.length, 'window')},{' '}
      {formatCount(windows.filter(({ outcome }) => outcome === 'breach').length)} in breach
      {gap !== null && <span class="warn"> · ▲ events before {gap.to} are gone</span>}
    </p>
  )
}

/** Thresholds that fit what was, for who does not know the figures by heart. */
function Proposed({ trial, onThreshold }: { trial: Trial } & Pick<TrialProps, 'onThreshold'>) {
  const { settings, windows } = trial
  const none = isCounting(settings) ? 0 : null
  const values = windows
    .map(({ value }) => value ?? none)
    .filter((value) => value !== null)
    .sort((a, b) => a - b)
  if (values.length === 0) return null
  const isBelow = settings.condition.op.startsWith('<')
  const extreme = isBelow ? values[0]! : values.at(-1)!
  const usual = values[Math.floor((isBelow ? 0.01 : 0.99) * (values.length - 1))]!
  const op = isBelow ? '<' : '>'
  return (
    <p class="presets hint">
      {valueName(settings)}:
      <Preset
        text={`99 % of windows ${isBelow ? '≥' : '≤'}`}
        {...{ op, value: usual, onThreshold }}
      />
      <Preset text={`all ${isBelow ? '≥' : '≤'}`} {...{ op, value: extreme, onThreshold }} />
    </p>
  )
}

interface PresetProps extends Pick<TrialProps, 'onThreshold'> {
  readonly text: string
  readonly op: string
  readonly value: number
}

function Preset({ text, op, value, onThreshold }: PresetProps) {
  const shown = formatFigure(value)
  return (
    <button
      type="button"
      class="small"
      aria-label={`Fire at ${op} ${shown}: ${text} ${shown}`}
      onClick={() => onThreshold(op, value)}
    >
      {text} {shown}
    </button>
  )
}

/** When it would have fired, the newest first, each with the events of the window. */
function Fired({ trial: { transitions, settings } }: { trial: Trial }) {
  const fired = transitions.filter(({ kind }) => kind === 'firing').toReversed()
  const all = transitions.map(({ group }) => group)
  if (fired.length === 0) return null
  return (
    <ul class="fired">
      {fired.slice(0, FIRED_SHOWN).map((one) => (
        <li key={`${one.window.to} ${groupText(one.group)}`}>
          <span class="when">{formatTime(Date.parse(one.window.to), 0)}</span>{' '}
          {settings.group_by.length > 0 && <bdi class="mono">{groupText(one.group)}</bdi>}{' '}
          {visibleLine(formatFigure(one.value))}{' '}
          <WhyLinks rule={settings} range={one.window} group={one.group} all={all} />
        </li>
      ))}
      {fired.length > FIRED_SHOWN && (
        <li class="quiet">and {formatCount(fired.length - FIRED_SHOWN)} times before</li>
      )}
    </ul>
  )
}
