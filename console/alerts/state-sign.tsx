/** States in words and colour, with a sign for who does not see colours. */
import { type RuleState, ruleState } from '../../src/model/alerts/rule-words.ts'
import { formatCount } from '../base/format.ts'
import type { GroupState, RuleInfo } from './rule.ts'

const SIGNS: Readonly<Record<RuleState, readonly [sign: string, style: string]>> = {
  firing: ['●', 'bad'],
  failing: ['▲', 'bad'],
  pending: ['◐', 'warn'],
  quiet: ['○', 'good'],
  paused: ['‖', 'quiet'],
}

function Sign({ state, text }: { state: RuleState; text: string }) {
  const [sign, style] = SIGNS[state]
  return (
    <strong class={`state ${style}`}>
      <span aria-hidden="true">{sign}</span> {text}
    </strong>
  )
}

export function RuleSign({ rule }: { rule: RuleInfo }) {
  const state = ruleState(rule)
  const { groups_firing: firing, groups_pending: pending, group_by: by } = rule
  const count = state === 'firing' ? firing : state === 'pending' ? pending : 0
  const many = by.length > 0 && count > 0 ? ` ${formatCount(count)}` : ''
  return (
    <>
      <Sign state={state} text={`${state}${many}`} />
      {state === 'firing' && rule.paused && <span class="quiet">, paused</span>}
      {state === 'firing' && rule.problem !== null && <Failing />}
    </>
  )
}

function Failing() {
  return (
    <>
      {' '}
      <Sign state="failing" text="failing" />
    </>
  )
}

export function GroupSign({ state }: Pick<GroupState, 'state'>) {
  return state === 'inactive' ? (
    <Sign state="quiet" text="quiet" />
  ) : (
    <Sign state={state} text={state} />
  )
}

/** What became of a group or a rule, in words. */
export function KindSign({ kind }: { kind: string }) {
  const text = kind.replaceAll('_', ' ')
  return <Sign state={KINDS[kind] ?? 'quiet'} text={text} />
}

const KINDS: Readonly<Record<string, RuleState>> = {
  firing: 'firing',
  new: 'firing',
  repeat: 'firing',
  pending: 'pending',
  evaluation_failing: 'failing',
  gap: 'failing',
  corrected: 'pending',
}
