/** Rules that somebody sees: an owner's are his, an admin's are all. */
import { IngestError } from '../errors.ts'
import { hasScope, type Principal, seenOwner, tryParseRowId } from '../model/stream.ts'
import type { Rule } from '../store/alerts/rule.ts'
import type { RuleStore } from '../store/alerts/rule-store.ts'

/** By its id, or by its name among those of `owner`. Throws `not_found`. */
export async function findVisibleRule(
  rules: Pick<RuleStore, 'find' | 'findNamed'>,
  principal: Principal,
  text: string,
  owner = principal.owner,
) {
  const id = tryParseRowId(text)
  const rule = await (id === undefined ? rules.findNamed(owner, text) : rules.find(id))
  if (rule !== undefined && isVisibleRule(principal, rule)) return rule
  throw new IngestError('not_found', 'there is no rule with this name or id')
}

/** With a token that is limited to streams, rules are seen that are as well. */
export function isVisibleRule(principal: Principal, { owner, streamIds }: Rule): boolean {
  if (owner !== principal.owner && !hasScope(principal, 'admin')) return false
  const { streamIds: limit } = principal
  return limit === undefined || streamIds?.every((id) => limit.has(id)) === true
}

/** Some of the rules that the principal sees, by their ids. */
export async function listVisibleRules(
  rules: Pick<RuleStore, 'list'>,
  principal: Principal,
  page: { readonly after: number; readonly limit: number },
) {
  const within = principal.streamIds && [...principal.streamIds]
  return await rules.list(seenOwner(principal), page, within)
}
