/** The groups of a rule, those that fire first, and why they do. */
import { type Signal, useSignal } from '@preact/signals'
import { visibleLine } from '../../src/language/visible-text.ts'
import { tryParseDuration } from '../../src/model/duration.ts'
import { call } from '../base/api.ts'
import { formatAgo, formatFigure, formatOf } from '../base/format.ts'
import { may } from '../base/rights.ts'
import { href } from '../base/route.ts'
import { shownValue } from '../base/shown-value.ts'
import { useTold } from '../parts/submit.ts'
import { type GroupState, type GroupValues, type RuleInfo, rulePath } from './rule.ts'
import { groupMatchers, matchersParam } from './silence.ts'
import { GroupSign } from './state-sign.tsx'
import { WhyLinks } from './why-links.tsx'

const SHOWN_MAX = 100
const STATES = ['firing', 'pending', 'inactive'] as const

interface GroupsProps {
  readonly rule: RuleInfo
  readonly groups: readonly GroupState[]
  readonly turn: Signal<number>
}

export function RuleGroups({ rule, groups, turn }: GroupsProps) {
  const shown = useSignal(SHOWN_MAX)
  const sorted = groups.toSorted((a, b) => STATES.indexOf(a.state) - STATES.indexOf(b.state))
  const all = groups.map(({ group }) => group)
  return (
    <>
      <h2>{rule.group_by.length > 0 ? 'Groups' : 'State'}</h2>
      {groups.length === 0 && (
        <p class="quiet">Nothing is remembered: the condition did not hold.</p>
      )}
      {groups.length > 0 && (
        <div class="scroll">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">State</th>
                <th scope="col">Group</th>
                <th scope="col" class="number">
                  Value
                </th>
                <th scope="col">Since</th>
                <th scope="col">Last events</th>
                <th scope="col">Why</th>
                {may('alerts:write') && <th scope="col">Not now</th>}
              </tr>
            </thead>
            <tbody>
              {sorted.slice(0, shown.value).map((state) => (
                <GroupRow key={state.fingerprint} {...{ rule, state, all, turn }} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {groups.length > shown.value && (
        <button type="button" onClick={() => (shown.value += SHOWN_MAX)}>
          Show more of {formatOf(groups.length, 'group')}
        </button>
      )}
    </>
  )
}

interface RowProps {
  readonly rule: RuleInfo
  readonly state: GroupState
  readonly all: readonly GroupValues[]
  readonly turn: Signal<number>
}

function GroupRow({ rule, state, all, turn }: RowProps) {
  const { group, since, last_seen: seen, silenced_by: silences = [] } = state
  return (
    <tr>
      <td class="when">
        <GroupSign state={state.state} />
        {state.acknowledged && <p class="hint">acknowledged</p>}
        {silences.length > 0 && <p class="hint">silenced</p>}
      </td>
      <th scope="row">
        <bdi class="mono">{groupText(group)}</bdi>
      </th>
      <td class="number">{formatFigure(state.value)}</td>
      <td class="when">{formatAgo(Date.parse(since))}</td>
      <td class="when">{formatAgo(Date.parse(seen))}</td>
      <td>
        <WhyLinks rule={rule} range={lastRange(rule, state)} group={group} all={all} />
      </td>
      {may('alerts:write') && (
        <td class="row-buttons">
          <Acknowledge rule={rule} state={state} turn={turn} />
          <a href={silenceAddress(rule, group)}>Silence…</a>
        </td>
      )}
    </tr>
  )
}

/** From the window with which it began to fire, else the last one. */
function lastRange(rule: RuleInfo, { firing_since: fired, since, state }: GroupState) {
  const end = state === 'firing' ? (fired ?? since) : since
  return { from: windowStart(rule, end), to: state === 'firing' ? rule.decided_until : end }
}

/** Of the window that ends then. */
function windowStart({ window }: RuleInfo, end: string): string {
  return new Date(Date.parse(end) - (tryParseDuration(window) ?? 0)).toISOString()
}

export function groupText(group: GroupValues): string {
  if (group === null) return 'the rule as a whole'
  if (group.length === 0) return 'all events'
  return group.map(shownValue).join(' · ')
}

function silenceAddress(rule: RuleInfo, group: GroupValues): string {
  const matchers = matchersParam(groupMatchers(rule, group))
  return href('alerts', undefined, { tab: 'silences', dialog: 'silence', matchers })
}

/** It is told no more until it is resolved. */
function Acknowledge({ rule, state, turn }: Omit<RowProps, 'all'>) {
  const isDone = Boolean(state.acknowledged)
  const { onClick, isBusy } = useTold(
    async () => {
      await call(`${rulePath(rule)}/groups/${state.fingerprint}/acknowledge`, {
        method: isDone ? 'DELETE' : 'POST',
        ...(!isDone && { body: {} }),
      })
      return isDone ? 'It is told again' : 'It is told no more until it is resolved'
    },
    () => turn.value++,
  )
  if (state.state !== 'firing') return null
  return (
    <button
      type="button"
      class="small"
      aria-label={`${isDone ? 'Take back the acknowledgement of' : 'Acknowledge'} ${visibleLine(
        groupText(state.group),
      )}`}
      disabled={isBusy}
      onClick={onClick}
    >
      {isDone ? 'Take back' : 'Acknowledge'}
    </button>
  )
}
