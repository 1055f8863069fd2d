import { publicRead } from '../../support/route-case.ts'

export const routes = [publicRead('/api/user/currency_rates/v1')]
