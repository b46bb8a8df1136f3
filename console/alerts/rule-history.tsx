/** What became of a rule and its groups, the newest first, page by page. */
import { visibleLine } from '../../src/language/visible-text.ts'
import { formatCount, formatFigure } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { changed, route } from '../base/route.ts'
import { formatTime } from '../base/time.ts'
import { Failure } from '../parts/failure.tsx'
import {
  callGroups,
  type GroupState,
  type GroupValues,
  type RuleInfo,
  rulePath,
  type Transition,
} from './rule.ts'
import { groupText } from './rule-groups.tsx'
import { KindSign } from './state-sign.tsx'
import { WhyLinks } from './why-links.tsx'

const PAGE = 50

interface HistoryProps {
  readonly rule: RuleInfo
  readonly groups: readonly GroupState[]
  readonly askKey: string
}

export function RuleHistory({ rule, groups, askKey }: HistoryProps) {
  const before = route.value.params.get('before') ?? undefined
  const { value, failure } = useLoaded(`${askKey} ${before}`, async (signal) => {
    const query = { limit: PAGE, before }
    return await callGroups<{
      readonly transitions: readonly Transition[]
      readonly next: string | null
    }>(`${rulePath(rule)}/transitions`, { query, signal })
  })
  const { transitions = [], next = null } = value ?? {}
  const all = [...groups, ...transitions].map(({ group }) => group)
  return (
    <>
      <h2>History</h2>
      {failure !== undefined && <Failure text={failure} />}
      {value !== undefined && transitions.length === 0 && (
        <p class="quiet">Nothing happened yet.</p>
      )}
      {transitions.length > 0 && <TransitionTable {...{ rule, transitions, all }} />}
      <p class="inline">
        {before !== undefined && <a href={changed({ before: undefined })}>Newest</a>}
        {next !== null && <a href={changed({ before: next })}>Older</a>}
      </p>
    </>
  )
}

interface TableProps {
  readonly rule: RuleInfo
  readonly transitions: readonly Transition[]
  readonly all: readonly GroupValues[]
}

function TransitionTable({ rule, transitions, all }: TableProps) {
  return (
    <div class="scroll">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">What</th>
            <th scope="col">Group</th>
            <th scope="col" class="number">
              Value
            </th>
            <th scope="col" class="number">
              Events
            </th>
            <th scope="col">Why</th>
          </tr>
        </thead>
        <tbody>
          {transitions.map((one) => (
            <tr key={one.id}>
              <td class="when">{formatTime(Date.parse(one.window.to), 0)}</td>
              <td>
                <KindSign kind={one.kind} />
                {one.reason !== null && (
                  <p class="hint">
                    <bdi>{visibleLine(one.reason)}</bdi>
                  </p>
                )}
              </td>
              <th scope="row">
                <bdi class="mono">{groupText(one.group)}</bdi>
              </th>
              <td class="number">{formatFigure(one.value)}</td>
              <td class="number">
                {one.event_count === null ? '–' : formatCount(one.event_count)}
              </td>
              <td>
                {one.window.from < one.window.to && (
                  <WhyLinks rule={rule} range={one.window} group={one.group} all={all} />
                )}
                {one.rule_version !== rule.version && (
                  <p class="hint">version {one.rule_version} decided it</p>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
