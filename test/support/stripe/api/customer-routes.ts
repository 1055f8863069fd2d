import type { Customers } from '../customers.ts'
import type { CustomerFields } from '../objects/customer.ts'
import { invalid, missing } from './errors.ts'
import { type Params, textAt, textsAt } from './form.ts'
import type { Call, Finder, Route } from './route.ts'

const FIELDS = ['email', 'name', 'metadata.*', 'description', 'phone']

export function customerRoutes(find: Finder, customers: Customers): Route[] {
  const path = '/v1/customers'
  return [
    {
      method: 'POST',
      path,
      resource: 'customer',
      access: 'write',
      params: FIELDS,
      handle: ({ params, isLive }) => customers.create(fieldsOf(params), isLive),
    },
    {
      method: 'GET',
      path: `${path}/:id`,
      resource: 'customer',
      access: 'read',
      handle: ({ id, isLive }) => find('customer', id, isLive),
    },
    {
      method: 'POST',
      path: `${path}/:id`,
      resource: 'customer',
      access: 'write',
      params: FIELDS,
      handle: (call) => customers.update(existing(call), fieldsOf(call.params)),
    },
    {
      method: 'DELETE',
      path: `${path}/:id`,
      resource: 'customer',
      access: 'write',
      handle: (call) => customers.remove(existing(call)),
    },
  ]

  function existing({ id, isLive }: Call) {
    const found = find('customer', id, isLive)
    if (found.deleted) throw missing('customer', id)
    return found
  }
}

function fieldsOf(params: Params): CustomerFields {
  const email = textAt(params, 'email')
  const name = textAt(params, 'name')
  const metadata = metadataAt(params, 'metadata')
  if (email && !/^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(email)) {
    throw invalid(`Invalid email address: ${email}`, 'email', 'email_invalid')
  }
  return {
    ...(email === undefined ? {} : { email: email || null }),
    ...(name === undefined ? {} : { name: name || null }),
    ...(metadata === undefined ? {} : { metadata }),
  }
}

/** Metadata within Stripe's limits. */
export function metadataAt(params: Params, path: string): Record<string, string> | undefined {
  const metadata = textsAt(params, path)
  const entries = Object.entries(metadata ?? {})
  if (entries.length > 50) throw invalid('Metadata can have at most 50 keys.', path)
  for (const [name, value] of entries) {
    if (name.length > 40) throw invalid('Metadata keys can have up to 40 characters.', path)
    if (value.length > 500) throw invalid('Metadata values can have up to 500 characters.', path)
  }
  return metadata
}
