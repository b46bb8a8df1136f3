/** Rules as requests name them, of those that a principal sees. */
import { findVisibleRule } from '../../alerts/visible-rules.ts'
import type { HttpRequest } from '../../http/guard.ts'
import type { ToldRule } from '../../store/alerts/rule.ts'
import type { RuleStore } from '../../store/alerts/rule-store.ts'

/** Throws `not_found`. */
export async function findRule(
  { rules }: { readonly rules: Pick<RuleStore, 'find' | 'findNamed'> },
  { principal, params }: Pick<HttpRequest, 'principal' | 'params'>,
): Promise<ToldRule> {
  return await findVisibleRule(rules, principal, params[0] ?? '')
}
