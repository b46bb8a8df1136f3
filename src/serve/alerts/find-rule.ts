/** Rules as requests name them, of those that a principal sees. */
import { findVisibleRule } from '../../alerts/visible-rules.ts'
import type { ObjectSchema } from '../../api/schema.ts'
import { IngestError } from '../../errors.ts'
import type { HttpRequest } from '../../http/guard.ts'
import { seenOwner } from '../../model/stream.ts'
import type { ToldRule } from '../../store/alerts/rule.ts'
import type { RuleStore } from '../../store/alerts/rule-store.ts'

/** What says which rule is meant, beside its name or id. */
export const RULE_QUERY = {
  type: 'object',
  properties: {
    owner: {
      type: 'string',
      maxLength: 256,
      description: "Whose rule the name is of; the caller's when left out. Others' are for admins",
    },
  },
} as const satisfies ObjectSchema

export function ownerAsked({ principal, query }: Pick<HttpRequest, 'principal' | 'query'>): string {
  return query.owner === undefined ? principal.owner : String(query.owner)
}

/** Whose are listed: everybody's, for an admin who names nobody. Throws `forbidden`. */
export function ownerListed({
  principal,
  query,
}: Pick<HttpRequest, 'principal' | 'query'>): string | undefined {
  const seen = seenOwner(principal)
  if (query.owner === undefined) return seen
  if (seen === undefined || query.owner === seen) return String(query.owner)
  throw new IngestError('forbidden', '"owner" is for admins')
}

/** Throws `not_found`. */
export async function findRule(
  { rules }: { readonly rules: Pick<RuleStore, 'find' | 'findNamed'> },
  request: Pick<HttpRequest, 'principal' | 'params' | 'query'>,
): Promise<ToldRule> {
  const { principal, params } = request
  return await findVisibleRule(rules, principal, params[0] ?? '', ownerAsked(request))
}
