import { type Metric, single } from '../logs/metric.ts';
import type { OperatorControl } from '../operator/operator-control.ts';
import type { InstanceMetrics } from './service-metrics.ts';

/** The metrics of the endpoints of the operator, whichever process sends to them. */
export class OperatorMetrics implements InstanceMetrics {
  readonly #operator: Pick<OperatorControl, 'endpoints'>;
  #failing = 0;

  constructor(operator: Pick<OperatorControl, 'endpoints'>) {
    this.#operator = operator;
  }

  get list(): readonly Metric[] {
    return [
      single(
        {
          name: 'chancery_operator_endpoints_failing',
          type: 'gauge',
          help: 'Endpoints of the operator whose last attempt failed, without paused ones.',
        },
        () => this.#failing,
      ),
    ];
  }

  async refresh(): Promise<void> {
    const endpoints = await this.#operator.endpoints.all();
    this.#failing = endpoints.filter(
      ({ status, failingSince }) => status === 'active' && failingSince !== '',
    ).length;
  }
}
