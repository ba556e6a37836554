import colors from 'picocolors';
import type { ReceivedWebhook } from './receiver-message.ts';

/** The demo's output: → marks requests to the service, ← webhooks at the receiver. */
export class Printer {
  readonly #colors = colors.createColors(process.stdout.isTTY ? colors.isColorSupported : false);

  heading(text: string): void {
    console.log(`\n${this.#colors.bold(text)}\n`);
  }

  fact(name: string, value: string, remark: string): void {
    console.log(`  ${name.padEnd(10)} ${value.padEnd(24)} ${this.#colors.dim(remark)}`);
  }

  asked(verb: string, what: string): void {
    console.log(`  ${this.#colors.cyan('→')} ${verb.padEnd(14)} ${what}`);
  }

  received({ headers, body, verdicts }: ReceivedWebhook): void {
    const event = headers['x-service-event'] ?? '?';
    const checks = [
      `X-Service-Signature ${this.#verdict(verdicts.byHand)}`,
      `standardwebhooks ${this.#verdict(verdicts.byPackage)}`,
    ];
    console.log(
      `  ${this.#colors.green('←')} ${event.padEnd(14)} ${titleOf(body).padEnd(15)} ${checks.join('  ')}`,
    );
  }

  held(text: string): void {
    console.log(`\n${this.#colors.green('✓')} ${text}\n`);
  }

  failed(reason: string): void {
    console.error(`\n${this.#colors.red('✗')} The demo failed: ${reason}\n`);
  }

  #verdict(isGenuine: boolean): string {
    return isGenuine ? this.#colors.green('ok') : this.#colors.red('REJECTED');
  }
}

function titleOf(body: string): string {
  const [, title] = /"title":"([^"]*)"/.exec(body) ?? [];
  return title ?? '';
}
