/** The body of a bulk request: actions with their documents. */
import type { BulkPartOptions } from '../../../model/batch/bulk-items.ts'
import { bulkItemsBytesMax } from '../../admission/bulk-items-bytes.ts'
import { type BodyFormat, plainFormat } from '../../framing/body-format.ts'
import { BulkCutter } from './bulk-framing.ts'

export const BULK_BODY: BodyFormat = {
  ...plainFormat('bulk', 'json', () => new BulkCutter()),
  // Its items may be many times the body's size, and are made together with those of others.
  whole: (bytes, options: BulkPartOptions | undefined) => {
    return { bytes, framing: 'bulk', input: 'json', itemBytes: bulkItemsBytesMax(bytes, options) }
  },
}
