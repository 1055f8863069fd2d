import { dataCommand } from '../../lib/command.ts'
import { inLanguage } from '../../lib/text/local-text.ts'
import { exportCommand, historyOption, printHistory } from '../../platform/publications/commands.ts'
import type { Plan } from './model.ts'
import type { Plans } from './service.ts'

type Needs = { plans: Plans }

const plansList = dataCommand({
  name: 'plans list',
  summary: 'List the pricing plans on sale',
  options: [historyOption],
  input: (_args, { history }) => history === true,
  work: async ({ plans }: Needs, showsHistory) =>
    showsHistory ? { history: (await plans.history()).versions } : plans.list(),
  print: (outcome) => ('history' in outcome ? printHistory(outcome.history) : formatPlans(outcome)),
})

const plansExport = exportCommand('plans', 'the catalogue', ({ plans }: Needs) => plans)

function formatPlans(plans: Plan[]): string {
  return plans
    .map(({ code, price, currency, duration, name }) =>
      [code, `${price} ${currency} / ${duration}`, inLanguage(name, 'en')].join('\t'),
    )
    .join('\n')
}

export const plansCommands = [plansList, plansExport]
