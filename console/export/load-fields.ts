import { callJson } from '../base/api.ts'
import { type CatalogField, catalogFields, type ExportFields } from './export-fields.ts'

const PAGE_FIELDS = 1_000
const PAGES_MAX = 20

/** All fields of a stream that hold values; those seen last, where they are too many. */
export async function loadFields(streamId: string, signal: AbortSignal): Promise<ExportFields> {
  const all: CatalogField[] = []
  let after: string | undefined
  for (let page = 0; page < PAGES_MAX; page++) {
    const answer: { fields: readonly CatalogField[]; next: string | null } = await callJson(
      `streams/${streamId}/fields`,
      { query: { limit: PAGE_FIELDS, after }, signal },
    )
    all.push(...answer.fields)
    if (answer.next === null) break
    after = answer.next
  }
  return catalogFields(all)
}
