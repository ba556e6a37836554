import { Command, Option } from 'commander';
import { dataFlags, outwardFlags } from '../../config/config-flags.ts';
import type { CopiedBlobs } from '../../files/copy-store.ts';
import type { Instance } from '../../instances/instance.ts';
import { StartError } from '../../open-data-directory.ts';
import { addFlags, flagsOf } from '../terminal/flags.ts';
import { type CommandIo, print, showLine } from '../terminal/print.ts';
import { placeOf, withInstance } from '../api/with-instance.ts';

/** `files copy` */
export function filesCommand(io: CommandIo): Command {
  const command = new Command('files').description('move the files of records');
  const copying = command
    .command('copy')
    .description('copy all files of an instance to S3 or back; existing copies are skipped');
  addFlags(copying, [...dataFlags, ...outwardFlags]);
  copying.addOption(
    new Option('--to <PLACE>', 'where they go').choices(['s3', 'disk']).makeOptionMandatory(),
  );
  copying.option('--instance <SLUG>', 'the instance', 'default');
  copying.option('--compare', 'also compare existing files');
  copying.action(async () => {
    const flags = flagsOf(copying);
    const isToS3 = flags['to'] === 's3';
    const isComparing = flags['compare'] === true;
    const summary = await withInstance(
      placeOf(copying, io),
      async (instance) => {
        const copied = await copyFilesOf(instance, { isToS3, isComparing, io });
        return summaryText(copied, instance, isToS3);
      },
      'fail',
    );
    showLine(io, '');
    await print(io, summary);
  });
  return command;
}

interface CopyOptions {
  readonly isToS3: boolean;
  readonly isComparing: boolean;
  readonly io: CommandIo;
}

async function copyFilesOf(
  { files, settings }: Instance,
  { isToS3, isComparing, io }: CopyOptions,
): Promise<CopiedBlobs> {
  const { s3 } = settings.current;
  const { bucket, region, endpoint, accessKey, secret } = s3;
  const missing = Object.entries({ bucket, region, endpoint, accessKey, secret }).find(
    ([, text]) => text === '',
  );
  if (missing !== undefined)
    throw new StartError(
      `There is no store to copy ${isToS3 ? 'to' : 'from'}: s3.${missing[0]} is empty in the settings.`,
    );
  const remote = files.openS3(s3);
  // Imported on demand: a server never needs it.
  const { copyStore } = await import('../../files/copy-store.ts');
  return copyStore({
    from: isToS3 ? files.disk : remote,
    to: isToS3 ? remote : files.disk,
    folder: files.uploadFolder,
    isComparing,
    onProgress: ({ files, bytes, present }) =>
      showLine(io, `${files} files copied (${bytes} bytes), ${present} there already`),
  });
}

function summaryText(
  { files, bytes, present }: CopiedBlobs,
  { settings }: Instance,
  isToS3: boolean,
): string {
  const isUsed = settings.current.s3.enabled === isToS3;
  const place = isToS3 ? 'S3' : 'the disk';
  const next = isUsed
    ? ''
    : `They are used once s3.enabled is ${isToS3} in the settings. Then run this again, for what was uploaded meanwhile.\n`;
  return `Copied ${files} files (${bytes} bytes) to ${place}; ${present} were there already.\n${next}`;
}
