import { publicRead } from '../../support/route-case.ts'

export const routes = [publicRead('/api/user/pricing_plans/v1')]
