/** One rule: what it does now, what it did, why, and what can be done about it. */
import { type Signal, useSignal } from '@preact/signals'
import { visibleLine } from '../../src/language/visible-text.ts'
import { conditionWords } from '../../src/model/alerts/rule-words.ts'
import { call, callJson } from '../base/api.ts'
import { formatAgo } from '../base/format.ts'
import { type Loaded, useLoaded } from '../base/loaded.ts'
import { may } from '../base/rights.ts'
import { closeDialog, go, href, openDialog, route, setParams } from '../base/route.ts'
import { isolated } from '../base/shown-value.ts'
import { Confirm } from '../parts/confirm.tsx'
import { Failure } from '../parts/failure.tsx'
import { tell } from '../parts/notices.tsx'
import { useTold } from '../parts/submit.ts'
import { DeadOfRule } from './messages.tsx'
import {
  callGroups,
  changeRule,
  type GroupState,
  isOfOther,
  mayChangeRule,
  type RuleInfo,
  rulePath,
  settingsOf,
} from './rule.ts'
import { RuleChart } from './rule-chart.tsx'
import { RuleForm } from './rule-form.tsx'
import { RuleGroups } from './rule-groups.tsx'
import { RuleHistory } from './rule-history.tsx'
import { streamsText } from './rule-list.tsx'
import { RuleSign } from './state-sign.tsx'
import { rangeAddress } from './why.ts'

const REFRESH_MS = 10_000

interface Shown {
  readonly rule: RuleInfo
  readonly groups: readonly GroupState[]
}

export function RulePage({ ruleId }: { ruleId: string }) {
  const isEdited = route.value.params.get('edit') === '1'
  return isEdited ? <EditPage ruleId={ruleId} /> : <LookPage ruleId={ruleId} />
}

/** Under somebody who types nothing is read anew, unless he says so. */
function EditPage({ ruleId }: { ruleId: string }) {
  const turn = useSignal(0)
  const path = rulePath({ id: encodeURIComponent(ruleId) })
  const { value, failure } = useLoaded(path, (signal) => callJson<RuleInfo>(path, { signal }), {
    turn,
  })
  if (value === undefined) {
    return failure === undefined ? <p class="quiet">Loading…</p> : <Absent failure={failure} />
  }
  return <RuleForm key={value.version} rule={value} onAgain={() => turn.value++} />
}

function LookPage({ ruleId }: { ruleId: string }) {
  const turn = useSignal(0)
  const loaded = useLoaded<Shown>(
    ruleId,
    async (signal) => {
      const path = rulePath({ id: encodeURIComponent(ruleId) })
      const [rule, { groups }] = await Promise.all([
        callJson<RuleInfo>(path, { signal }),
        callGroups<{ readonly groups: readonly GroupState[] }>(`${path}/groups`, { signal }),
      ])
      return { rule, groups }
    },
    { turn, refreshMs: REFRESH_MS },
  )
  const { value: shown, failure } = loaded
  if (shown === undefined) {
    return failure === undefined ? <p class="quiet">Loading…</p> : <Absent failure={failure} />
  }
  return <Page loaded={loaded} shown={shown} turn={turn} />
}

function Absent({ failure }: { failure: string }) {
  return (
    <Failure text={failure}>
      <a href={href('alerts')}>All rules</a>
    </Failure>
  )
}

interface PageProps {
  readonly loaded: Loaded<Shown>
  readonly shown: Shown
  readonly turn: Signal<number>
}

function Page({ loaded: { failure }, shown: { rule, groups }, turn }: PageProps) {
  const key = `${rule.id} ${rule.decided_until} ${turn.value}`
  return (
    <section>
      <p class="quiet crumbs">
        <a href={href('alerts')}>Alerts</a>
      </p>
      <Heading rule={rule} turn={turn} />
      {failure !== undefined && <Failure text={`What is shown is old: ${failure}`} />}
      {rule.problem !== null && !rule.paused && (
        <Failure text={`Its next window is not decided: ${visibleLine(rule.problem)}`} />
      )}
      <Meaning rule={rule} />
      <RuleChart rule={rule} askKey={key} />
      <RuleGroups rule={rule} groups={groups} turn={turn} />
      <DeadOfRule rule={rule} />
      <RuleHistory rule={rule} groups={groups} askKey={key} />
    </section>
  )
}

function Heading({ rule, turn }: { rule: RuleInfo; turn: Signal<number> }) {
  const isDeleting = route.value.params.get('dialog') === 'delete'
  const pause = useTold(
    async () => {
      await changeRule(rule, { ...settingsOf(rule), paused: !rule.paused })
      return `${isolated(visibleLine(rule.name))} ${rule.paused ? 'goes on' : 'is paused'}`
    },
    () => turn.value++,
  )
  return (
    <div class="heading">
      <h1>
        <bdi>{visibleLine(rule.name)}</bdi>
      </h1>
      <RuleSign rule={rule} />
      <span class="spring" />
      {mayChangeRule(rule) && (
        <>
          <button type="button" onClick={() => setParams({ edit: '1' })}>
            Edit
          </button>
          <button type="button" disabled={pause.isBusy} onClick={pause.onClick}>
            {rule.paused ? 'Resume' : 'Pause'}
          </button>
        </>
      )}
      {may('alerts:write') && (
        <button type="button" class="danger" onClick={() => openDialog('delete')}>
          Delete
        </button>
      )}
      {isDeleting && <DeleteDialog rule={rule} onClose={() => closeDialog('delete')} />}
    </div>
  )
}

/** What it looks at, in words. */
function Meaning({ rule }: { rule: RuleInfo }) {
  const range = { from: '-1d', to: 'now' }
  const { owner, description, group_by: by, channels } = rule
  return (
    <div class="card">
      <p class="meaning">
        Fires when <strong>{visibleLine(conditionWords(rule))}</strong>
        {by.length > 0 && (
          <>
            , by <bdi class="mono">{visibleLine(by.join(', '))}</bdi>
          </>
        )}
        , of{' '}
        <a href={rangeAddress(rule, range)}>
          <bdi class="mono">{visibleLine(rule.query) || 'all events'}</bdi>
        </a>{' '}
        in <bdi>{streamsText(rule)}</bdi>, by{' '}
        {rule.time_basis === 'event_time' ? 'event time' : 'receipt'}.
      </p>
      {description !== '' && (
        <p>
          <bdi>{visibleLine(description)}</bdi>
        </p>
      )}
      <p class="hint">
        {rule.severity}, tells <bdi>{visibleLine(channels.join(', ')) || 'nobody'}</bdi>
        {isOfOther(rule) && (
          <>
            , reads with the rights of <bdi>{visibleLine(owner)}</bdi>
          </>
        )}
        . Decided up to {formatAgo(Date.parse(rule.decided_until))}
        {rule.failures > 0 && `, ${rule.failures} tries in a row failed`}.
      </p>
    </div>
  )
}

function DeleteDialog({ rule, onClose }: { rule: RuleInfo; onClose: () => void }) {
  const remove = async () => {
    await call(rulePath(rule), { method: 'DELETE' })
    tell(`${isolated(visibleLine(rule.name))} is deleted`)
  }
  return (
    <Confirm
      title={`Delete ${visibleLine(rule.name)}?`}
      does="Delete rule"
      run={remove}
      onDone={() => go(href('alerts'), 'replace')}
      onClose={onClose}
    >
      <p>What fires is resolved, and that is told. Nobody can undo it.</p>
    </Confirm>
  )
}
