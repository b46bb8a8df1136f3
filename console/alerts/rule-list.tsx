/** All rules, those that fire first; found by any part of what they say. */
import { visibleLine } from '../../src/language/visible-text.ts'
import { conditionWords, RULE_STATES, ruleState } from '../../src/model/alerts/rule-words.ts'
import { formatOf } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { go, href, route, setParams } from '../base/route.ts'
import { findStream } from '../base/stream.ts'
import { Failure } from '../parts/failure.tsx'
import { isOfOther, loadRules, mayMakeRules, type RuleInfo } from './rule.ts'
import { RuleSign } from './state-sign.tsx'

const REFRESH_MS = 10_000
const NAMES = new Intl.Collator('en', { numeric: true })

export function RuleList({ streamId }: { streamId: string | undefined }) {
  const { value: all, failure } = useLoaded('rules', loadRules, { refreshMs: REFRESH_MS })
  if (all === undefined) {
    return failure === undefined ? <p class="quiet">Loading…</p> : <Failure text={failure} />
  }
  const listed = listRules(all, streamId, route.value.params.get('name') ?? '')
  return (
    <>
      {failure !== undefined && <Failure text={`These rules are old: ${failure}`} />}
      <ListBar all={all} listed={listed} streamId={streamId} />
      {all.length === 0 && <NoRule />}
      {all.length > 0 && listed.length === 0 && <p class="empty">No rule has that in it.</p>}
      {listed.length > 0 && <RuleTable rules={listed} />}
    </>
  )
}

/** Those about the stream with all words of `text` in them, the worst first. */
function listRules(
  all: readonly RuleInfo[],
  streamId: string | undefined,
  text: string,
): readonly RuleInfo[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const isShown = (rule: RuleInfo) => {
    const isAbout =
      streamId === undefined || rule.streams === '*' || rule.streams.includes(streamId)
    const { name, description, query, severity, owner } = rule
    const said = `${name} ${description} ${query} ${severity} ${owner} ${ruleState(rule)}`
    return isAbout && words.every((word) => said.toLowerCase().includes(word))
  }
  const rank = (rule: RuleInfo) => RULE_STATES.indexOf(ruleState(rule))
  return all.filter(isShown).sort((a, b) => rank(a) - rank(b) || NAMES.compare(a.name, b.name))
}

interface BarProps {
  readonly all: readonly RuleInfo[]
  readonly listed: readonly RuleInfo[]
  readonly streamId: string | undefined
}

function ListBar({ all, listed, streamId }: BarProps) {
  const firing = all.filter(({ groups_firing: count }) => count > 0).length
  const count = formatOf(all.length, 'rule')
  const [first] = listed
  return (
    <div class="toolbar list-bar">
      <input
        id="query"
        type="search"
        aria-label="Filter rules"
        placeholder="Filter (/)"
        spellcheck={false}
        value={route.value.params.get('name') ?? ''}
        onInput={(event) => setParams({ name: event.currentTarget.value }, 'replace')}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && first !== undefined) go(ruleAddress(first))
          else if (event.key === 'Escape') setParams({ name: undefined }, 'replace')
        }}
      />
      <span class="quiet" role="status">
        {listed.length < all.length ? `${listed.length} of ${count}` : count}
        {firing > 0 && `, ${firing} firing`}
      </span>
      {streamId !== undefined && listed.length < all.length && (
        <a href={href('alerts')}>Rules about all streams</a>
      )}
      <span class="spring" />
      {mayMakeRules() && (
        <button
          type="button"
          class="primary"
          onClick={() => go(href('alerts', streamId, { edit: 'new' }))}
        >
          New rule
        </button>
      )}
    </div>
  )
}

export function ruleAddress({ id }: Pick<RuleInfo, 'id'>): string {
  return href('alerts', undefined, { rule: id })
}

function NoRule() {
  return (
    <p class="empty">
      {mayMakeRules() ? (
        <>
          No rule yet. <a href={href('explore', route.value.streamId)}>Look for something</a>, then{' '}
          <em>Alert…</em> makes a rule of it.
        </>
      ) : (
        'This token sees no rule.'
      )}
    </p>
  )
}

function RuleTable({ rules }: { rules: readonly RuleInfo[] }) {
  return (
    <div class="scroll">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col">Name</th>
            <th scope="col">Fires when</th>
            <th scope="col">Query</th>
            <th scope="col">Severity</th>
            <th scope="col">Tells</th>
          </tr>
        </thead>
        <tbody>
          {rules.map((rule) => (
            <RuleRow key={rule.id} rule={rule} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function RuleRow({ rule }: { rule: RuleInfo }) {
  return (
    <tr>
      <td class="when">
        <RuleSign rule={rule} />
      </td>
      <th scope="row">
        <a href={ruleAddress(rule)}>
          <bdi>{visibleLine(rule.name)}</bdi>
        </a>
        {isOfOther(rule) && (
          <p class="hint">
            of <bdi>{visibleLine(rule.owner)}</bdi>
          </p>
        )}
        {rule.problem !== null && !rule.paused && (
          <p class="hint bad">
            <bdi>{visibleLine(rule.problem)}</bdi>
          </p>
        )}
        {rule.description !== '' && (
          <p class="hint">
            <bdi>{visibleLine(rule.description)}</bdi>
          </p>
        )}
      </th>
      <td>
        <bdi>{visibleLine(conditionWords(rule))}</bdi>
        {rule.group_by.length > 0 && (
          <p class="hint">
            by <bdi>{visibleLine(rule.group_by.join(', '))}</bdi>
          </p>
        )}
      </td>
      <td class="mono">
        <bdi>{visibleLine(rule.query) || 'all events'}</bdi>
        <p class="hint">
          <bdi>{streamsText(rule)}</bdi>
        </p>
      </td>
      <td>{visibleLine(rule.severity)}</td>
      <td>
        {rule.channels.length === 0 ? (
          <span class="quiet">nobody</span>
        ) : (
          <bdi>{visibleLine(rule.channels.join(', '))}</bdi>
        )}
      </td>
    </tr>
  )
}

/** The streams of a rule, by name. */
export function streamsText({ streams }: Pick<RuleInfo, 'streams'>): string {
  if (streams === '*') return 'all streams'
  return streams.map((id) => visibleLine(findStream(id)?.name ?? `stream ${id}`)).join(', ')
}
