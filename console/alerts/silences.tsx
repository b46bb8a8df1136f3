/** Silences: what is not told for a while, though it goes on to be decided. */
import { type Signal, useSignal } from '@preact/signals'
import { visibleLine } from '../../src/language/visible-text.ts'
import { matcherText } from '../../src/model/alerts/alert-matchers.ts'
import { tryParseDuration } from '../../src/model/duration.ts'
import { call, loadAll } from '../base/api.ts'
import { formatOf } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { may } from '../base/rights.ts'
import { closeDialog, openDialog, route, setParams } from '../base/route.ts'
import { formatTime } from '../base/time.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Failure } from '../parts/failure.tsx'
import { Field, TextField } from '../parts/form.tsx'
import { tell } from '../parts/notices.tsx'
import { useSubmit, useTold } from '../parts/submit.ts'
import { Tabs } from '../parts/tabs.tsx'
import { readMatchers, type SilenceInfo } from './silence.ts'

const STATES = [
  ['active', 'Active'],
  ['pending', 'To come'],
  ['expired', 'Over'],
] as const
const SHOWN_MAX = 100
const DURATIONS = ['30m', '1h', '4h', '1d', '7d'] as const

export function Silences() {
  const turn = useSignal(0)
  const { params } = route.value
  const state = STATES.find(([name]) => name === params.get('state'))?.[0] ?? 'active'
  const { value: all, failure } = useLoaded(
    `silences ${state}`,
    (signal) => {
      const query = { state }
      return loadAll<SilenceInfo>('alerts/silences', 'silences', { query, signal })
    },
    { turn },
  )
  return (
    <>
      <div class="toolbar list-bar">
        <Tabs
          label="Which silences"
          tabs={STATES}
          selected={state}
          onSelect={(name) => setParams({ state: name === 'active' ? undefined : name })}
        />
        <span class="spring" />
        {may('alerts:write') && (
          <button type="button" class="primary" onClick={() => openDialog('silence')}>
            New silence
          </button>
        )}
      </div>
      <p class="hint">What a silence is about is decided as ever, and not told until it is over.</p>
      {failure !== undefined && <Failure text={failure} />}
      {all?.length === 0 && <p class="empty">No silence.</p>}
      {all !== undefined && all.length > 0 && (
        <SilenceTable
          key={state}
          silences={all}
          turn={turn}
          canEnd={state !== 'expired' && may('alerts:write')}
        />
      )}
      {params.get('dialog') === 'silence' && may('alerts:write') && (
        <SilenceForm onSaved={() => turn.value++} />
      )}
    </>
  )
}

interface TableProps {
  readonly silences: readonly SilenceInfo[]
  readonly turn: Signal<number>
  readonly canEnd: boolean
}

function SilenceTable({ silences, turn, canEnd }: TableProps) {
  const shown = useSignal(SHOWN_MAX)
  return (
    <div class="scroll">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Of alerts with</th>
            <th scope="col">From</th>
            <th scope="col">To</th>
            <th scope="col">Why</th>
            {canEnd && <th scope="col">End</th>}
          </tr>
        </thead>
        <tbody>
          {silences.slice(0, shown.value).map((one) => (
            <tr key={one.id}>
              <th scope="row">
                <bdi class="mono">{visibleLine(one.matchers.map(matcherText).join(', '))}</bdi>
              </th>
              <td class="when">{formatTime(Date.parse(one.from), 0)}</td>
              <td class="when">{formatTime(Date.parse(one.to), 0)}</td>
              <td>
                <bdi>{visibleLine(one.comment) || '–'}</bdi>
                {one.author !== undefined && (
                  <p class="hint">
                    by <bdi>{visibleLine(one.author)}</bdi>
                  </p>
                )}
              </td>
              {canEnd && (
                <td>
                  <EndButton silence={one} turn={turn} />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {silences.length > shown.value && (
        <button type="button" onClick={() => (shown.value += SHOWN_MAX)}>
          Show more of {formatOf(silences.length, 'silence')}
        </button>
      )}
    </div>
  )
}

interface EndProps {
  readonly silence: SilenceInfo
  readonly turn: Signal<number>
}

function EndButton({ silence: { id, matchers }, turn }: EndProps) {
  const { onClick, isBusy } = useTold(
    async () => {
      await call(`alerts/silences/${id}`, { method: 'DELETE' })
      return 'The silence is over: what fires is told'
    },
    () => turn.value++,
  )
  return (
    <button
      type="button"
      class="small"
      aria-label={`End the silence of ${visibleLine(matchers.map(matcherText).join(', '))}`}
      disabled={isBusy}
      onClick={onClick}
    >
      End
    </button>
  )
}

function SilenceForm({ onSaved }: { onSaved: () => void }) {
  const matchers = useSignal(route.value.params.get('matchers') ?? '')
  const lasts = useSignal<string>('1h')
  const comment = useSignal('')
  const close = () => {
    closeDialog('silence')
    if (route.value.params.has('matchers')) setParams({ matchers: undefined }, 'replace')
  }
  const { onSubmit, isBusy, failure } = useSubmit(async () => {
    const ms = tryParseDuration(lasts.value.trim())
    if (ms === undefined) throw new Error('It lasts for a time such as 4h')
    const to = new Date(Date.now() + ms).toISOString()
    const body = { matchers: readMatchers(matchers.value), to, comment: comment.value.trim() }
    await call('alerts/silences', { method: 'POST', body })
    tell('Silenced')
    close()
    onSaved()
  })
  return (
    <Dialog title="New silence" onClose={close}>
      <form onSubmit={onSubmit}>
        <TextField
          label="Alerts with all of these labels"
          lines={3}
          value={matchers.value}
          placeholder="alertname=web-errors"
          hint="One a line: name=value, name!=value, name=~pattern, name!~pattern"
          onInput={(text) => {
            matchers.value = text
          }}
        />
        <Field label="For how long">
          {({ id }) => (
            <div class="inline">
              <input
                id={id}
                value={lasts.value}
                size={6}
                onInput={(event) => {
                  lasts.value = event.currentTarget.value
                }}
              />
              {DURATIONS.map((one) => (
                <button
                  key={one}
                  type="button"
                  class="small"
                  aria-pressed={lasts.value === one}
                  onClick={() => (lasts.value = one)}
                >
                  {one}
                </button>
              ))}
            </div>
          )}
        </Field>
        <TextField
          label="Why"
          value={comment.value}
          onInput={(text) => {
            comment.value = text
          }}
        />
        {failure !== undefined && <Failure text={failure} />}
        <div class="buttons">
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={isBusy}>
            Silence
          </button>
        </div>
      </form>
    </Dialog>
  )
}
