/** Rules of alerts, who is told, and what could not be told. */
import { route, setParams } from '../base/route.ts'
import { Tabs } from '../parts/tabs.tsx'
import { Channels } from './channels.tsx'
import { Messages } from './messages.tsx'
import { RuleForm } from './rule-form.tsx'
import { RuleList } from './rule-list.tsx'
import { RulePage } from './rule-page.tsx'
import { Silences } from './silences.tsx'

const TABS = [
  ['rules', 'Rules'],
  ['channels', 'Channels'],
  ['messages', 'Messages'],
  ['silences', 'Silences'],
] as const
type Tab = (typeof TABS)[number][0]

export function AlertsScreen({ streamId }: { streamId: string | undefined }) {
  const { params } = route.value
  const ruleId = params.get('rule')
  if (params.get('edit') === 'new') return <RuleForm key="new" rule={undefined} />
  if (ruleId !== null) return <RulePage key={ruleId} ruleId={ruleId} />
  const tab = TABS.find(([name]) => name === params.get('tab'))?.[0] ?? 'rules'
  return (
    <section>
      <div class="heading">
        <h1>Alerts</h1>
      </div>
      <Tabs
        label="Parts of alerts"
        tabs={TABS}
        selected={tab}
        onSelect={(name) =>
          setParams({ tab: name === 'rules' ? undefined : name, name: undefined })
        }
      />
      <Shown tab={tab} streamId={streamId} />
    </section>
  )
}

function Shown({ tab, streamId }: { tab: Tab; streamId: string | undefined }) {
  switch (tab) {
    case 'channels':
      return <Channels />
    case 'messages':
      return <Messages />
    case 'silences':
      return <Silences />
    default:
      return <RuleList streamId={streamId} />
  }
}
