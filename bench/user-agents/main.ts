/** `npm run bench:user-agents`: what is told right of the labelled user agents, and what is not. */
import { parseUserAgent } from '../../workers/transform/agents/parse-user-agent.ts'
import { formatTable } from '../table.ts'
import { readLabelledAgents, scoreAgents } from './score.ts'

const scores = scoreAgents(readLabelledAgents(), (text) => {
  const { json } = parseUserAgent(text)
  return json === '' ? {} : JSON.parse(json)
})
console.log(
  formatTable(
    ['', 'right', 'of', 'share'],
    scores.map(({ name, right, of }) => [name, `${right}`, `${of}`, (right / of).toFixed(4)]),
  ),
)
for (const { name, wrong } of scores) for (const text of wrong) console.log(`${name}: ${text}`)
