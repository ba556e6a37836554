import { spawn } from 'node:child_process';
import { Command } from 'commander';
import type { Environment } from '../../config/config.ts';
import { ConfigError } from '../../config/config-error.ts';
import { addApiFlags, findService } from '../api/with-api.ts';
import { clientOf, configOf, flagsOf, isSet, variablesOf } from '../terminal/flags.ts';
import { type CommandIo, note, print } from '../terminal/print.ts';
import { showJson } from '../terminal/show.ts';

/** `open` */
export function openCommand(io: CommandIo): Command {
  const command = new Command('open').description('open the dashboard in a browser, and print its URL');
  command.option('--print', 'print the URL only');
  addApiFlags(command);
  command.action(async () => {
    const url = await dashboardUrl(command, io);
    const environment = variablesOf(io);
    const program =
      isSet(command, 'print') || !isAtScreen(io, environment) ? undefined : opener(process.platform);
    if (isSet(command, 'json')) await showJson(io, { url });
    else await print(io, `${url}\n`);
    if (program !== undefined && !(await startBrowser(program, url, environment)))
      note(io, 'No browser could be started. Open the URL yourself.\n');
  });
  return command;
}

/** The dashboard of the service, or of the server that runs on this machine by the same options. */
async function dashboardUrl(command: Command, io: CommandIo): Promise<string> {
  const service = await findService(command, io);
  const { instance } = clientOf(flagsOf(command), io);
  const base = service?.url ?? localUrl(command, io);
  return `${base}${instance === undefined ? '' : `/i/${encodeURIComponent(instance)}`}/_/`;
}

function localUrl(command: Command, io: CommandIo): string {
  const { host, port, tls } = configOf(command, io);
  if (port === 0) throw new ConfigError('The server of this machine takes any free port: give its --url.');
  const name = ['0.0.0.0', '::'].includes(host) ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `${tls === undefined ? 'http' : 'https'}://${name}:${port}`;
}

/** False where nobody would see a browser: in a script, in CI, on a machine without a screen or over SSH. */
function isAtScreen({ stdout }: CommandIo, environment: Environment): boolean {
  const has = (name: string): boolean => (environment[name] ?? '') !== '';
  if (stdout.isTTY !== true || has('CI') || has('SSH_CONNECTION')) return false;
  return process.platform !== 'linux' || has('DISPLAY') || has('WAYLAND_DISPLAY');
}

type Program = readonly [file: string, ...args: readonly string[]];

/** The program of the system that opens a URL. It is started without a shell, which would read the URL as a command. */
function opener(platform: NodeJS.Platform): Program {
  if (platform === 'darwin') return ['open'];
  return platform === 'win32' ? ['rundll32', 'url.dll,FileProtocolHandler'] : ['xdg-open'];
}

/** Resolves to false where the program is not there. A browser outlives the command. */
function startBrowser([file, ...args]: Program, url: string, environment: Environment): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(file, [...args, url], { stdio: 'ignore', detached: true, env: { ...environment } });
    child.once('spawn', () => resolve(true));
    child.once('error', () => resolve(false));
    child.unref();
  });
}
