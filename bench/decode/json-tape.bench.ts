import type { MicroBench } from '../bench.ts'
import { TapeBatch } from './tape-batch.ts'

export const jsonTape: MicroBench = {
  name: 'decode/json-tape',
  title: 'framing + byte tape',
  kind: 'json',
  prepare: (batch) => {
    const decoded = new TapeBatch(batch)
    return () => decoded.decode()
  },
}
