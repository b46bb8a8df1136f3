/** Rules as requests name them, of those that a principal sees. */
import { IngestError } from '../../errors.ts'
import type { HttpRequest } from '../../http/guard.ts'
import { hasScope, type Principal, tryParseRowId } from '../../model/stream.ts'
import type { Rule } from '../../store/alerts/rule.ts'
import type { RuleStore } from '../../store/alerts/rule-store.ts'

/** By its id, or by its name among the principal's own. Throws `not_found`. */
export async function findRule(
  { rules }: { readonly rules: RuleStore },
  { principal, params }: HttpRequest,
): Promise<Rule> {
  const text = params[0] ?? ''
  const id = tryParseRowId(text)
  const rule = await (id === undefined ? rules.findNamed(principal.owner, text) : rules.find(id))
  if (rule !== undefined && isSeen(principal, rule)) return rule
  throw new IngestError('not_found', 'there is no rule with this name or id')
}

/** An owner's rules, an admin's are all; with a token that is limited, those that are as well. */
export function isSeen(principal: Principal, { owner, streamIds }: Rule): boolean {
  if (owner !== principal.owner && !hasScope(principal, 'admin')) return false
  const { streamIds: limit } = principal
  return limit === undefined || streamIds?.every((id) => limit.has(id)) === true
}
