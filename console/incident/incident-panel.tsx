import type { CountedAsk } from '../explore/counted.ts'
import { ExplainPanel } from './explain-panel.tsx'
import { PatternsPanel } from './patterns-panel.tsx'

export type PanelName = 'explain' | 'patterns'

export interface PanelProps {
  readonly counted: CountedAsk
  readonly onClose: () => void
}

const PANELS: Readonly<Record<PanelName, typeof ExplainPanel>> = {
  explain: ExplainPanel,
  patterns: PatternsPanel,
}

export function IncidentPanel({ name, ...props }: PanelProps & { readonly name: PanelName }) {
  const Panel = PANELS[name]
  return <Panel {...props} />
}
