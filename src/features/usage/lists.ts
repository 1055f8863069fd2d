import { defineList } from '../../platform/lists/list.ts'
import { MostUsedQuery } from './model.ts'
import type { Usage } from './service.ts'

const mostUsed = defineList({
  name: 'usage',
  summary: 'List the users who have used the most of a limit',
  console: 'usage',
  query: MostUsedQuery,
  isPersonal: true,
  read: ({ usage }: { usage: Usage }, { limit }) => usage.listMostUsed(limit),
  rows: ({ name: limit, users }) => users.map((user) => ({ ...user, limit })),
  userIds: ({ userId }) => [userId],
  show: async (page, _needs, readNames) => ({ ...page, people: await readNames() }),
  columns: {
    limit: ({ limit }) => limit,
    user_id: ({ userId }) => userId,
    user: ({ userId }, names) => names[userId],
    used: ({ used }) => used,
    has_reached_limit: ({ hasReachedLimit }) => hasReachedLimit,
    resets: ({ resetsAt }) => resetsAt,
  },
  command: null,
})

export const usageLists = [mostUsed]
