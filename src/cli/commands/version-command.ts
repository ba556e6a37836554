import { Command } from 'commander';
import { build } from '../../base/build.ts';
import { sqliteVersion } from '../../storage/sqlite/sqlite-version.ts';
import { type CommandIo, print } from '../terminal/print.ts';

/** `version` */
export function versionCommand(io: CommandIo): Command {
  const command = new Command('version').description('show versions, for a bug report');
  command.option('--json', 'print JSON');
  command.action(async () => {
    const { version, commit } = build;
    const versions = { version, commit, node: process.versions.node, sqlite: sqliteVersion().join('.') };
    await print(io, command.opts()['json'] === true ? `${JSON.stringify(versions)}\n` : textOf(versions));
  });
  return command;
}

interface Versions {
  readonly version: string;
  readonly commit: string | null;
  readonly node: string;
  readonly sqlite: string;
}

function textOf({ version, commit, node, sqlite }: Versions): string {
  return `Chancery ${version}\ncommit ${commit ?? 'unknown: Node runs the sources'}\nNode ${node}\nSQLite ${sqlite}\n`;
}
