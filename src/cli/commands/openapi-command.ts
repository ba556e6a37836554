import { writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import { objectOf } from '../api/api.ts';
import { textOf } from '../terminal/flags.ts';
import { type CommandIo, print } from '../terminal/print.ts';
import { jsonText } from '../terminal/show.ts';
import { addApiFlags, withApi } from '../api/with-api.ts';

/** `openapi` */
export function openapiCommand(io: CommandIo): Command {
  const command = new Command('openapi').description(
    'write the OpenAPI document of a service, with the collections of the instance',
  );
  command.option('--out <FILE>', 'output file; standard output by default');
  addApiFlags(command);
  command.action(async () => {
    const file = textOf(command, 'out');
    const answer = await withApi(command, io, (api) => api.request('GET', '/api/openapi.json'));
    const text = `${jsonText(objectOf(answer), 2)}\n`;
    if (file === undefined) {
      await print(io, text);
      return;
    }
    await writeFile(file, text);
    await print(io, `Wrote ${file}.\n`);
  });
  return command;
}
