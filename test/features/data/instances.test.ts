import { expect } from 'bun:test'
import { createTestInstances, testInstances } from '../../support/instances.ts'

const DATA = '/api/user/data/v1'

testInstances('concurrent patches on both instances are all kept', async () => {
  await using instances = await createTestInstances()
  const { here, there } = instances
  const { accessToken: token } = await here.register()
  const names = Array.from({ length: 10 }, (_, at) => `member ${at}`)
  const replies = await Promise.all(
    names.map((name, at) =>
      (at % 2 === 0 ? here : there).ask('PATCH', DATA, { token, json: { [name]: 1 } }),
    ),
  )
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]))
  const { data } = (await here.ask('GET', DATA, { token })).json.response
  expect(Object.keys(data).toSorted()).toEqual(names.toSorted())
})
