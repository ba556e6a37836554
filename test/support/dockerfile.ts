/** An instruction of a Dockerfile, as `COPY` and all that stands behind it, in one line. */
export interface Instruction {
  readonly name: string;
  readonly text: string;
}

/** A stage: what is between one FROM and the next. */
export interface Stage {
  readonly image: string;
  readonly name: string | undefined;
  readonly instructions: readonly Instruction[];
}

export interface Dockerfile {
  /** What stands before the first stage: arguments with their defaults. */
  readonly args: ReadonlyMap<string, string>;
  readonly stages: readonly Stage[];
}

/** Reads a Dockerfile; a variable in the name of an image is replaced by its default. */
export function parseDockerfile(text: string): Dockerfile {
  const instructions = instructionsOf(text);
  const firstStage = instructions.findIndex(({ name }) => name === 'FROM');
  const args = new Map(
    instructions.slice(0, firstStage).map(({ text }) => {
      const [name = '', value = ''] = text.split('=');
      return [name, value];
    }),
  );
  const stages: (Stage & { readonly instructions: Instruction[] })[] = [];
  for (const instruction of instructions.slice(firstStage)) {
    if (instruction.name !== 'FROM') stages.at(-1)?.instructions.push(instruction);
    else {
      const [, image = '', name] = /^(\S+)(?: AS (\S+))?$/.exec(instruction.text) ?? [];
      const resolved = image.replaceAll(/\$\{(\w+)\}/g, (_, arg: string) => args.get(arg) ?? '');
      stages.push({ image: resolved, name, instructions: [] });
    }
  }
  return { args, stages };
}

/** Returns what a Dockerfile of ours lacks. `isSent` says whether a path gets to the builder, as .dockerignore decides. */
export function checkDockerfile(file: Dockerfile, isSent: (path: string) => boolean): readonly string[] {
  const last = file.stages.at(-1);
  if (last === undefined || file.stages.length < 2) return ['it has no stage for the build and one to run'];
  const value = (name: string): string =>
    last.instructions.findLast((instruction) => instruction.name === name)?.text ?? '';
  return [
    ...file.stages.flatMap(({ image }) => checkImage(image)),
    ...file.stages.flatMap(({ instructions }) => instructions.flatMap((one) => checkCopy(one, file, isSent))),
    ...(/^[1-9]\d{3,}(:[1-9]\d{3,})?$/.test(value('USER'))
      ? []
      : ['it does not run as the number of a user']),
    ...(value('HEALTHCHECK').includes('CMD [') ? [] : ['it has no HEALTHCHECK that needs no shell']),
    ...(value('ENTRYPOINT').startsWith('[') ? [] : ['a signal does not reach what a shell has started']),
    ...(value('STOPSIGNAL') === 'SIGTERM' ? [] : ['it has no STOPSIGNAL']),
    ...(value('VOLUME') === '' ? ['its data is in no volume'] : []),
    ...(last.instructions.some(({ name }) => name === 'RUN') ? ['it runs something in the last stage'] : []),
    ...(value('LABEL').includes('org.opencontainers.image.version=')
      ? []
      : ['it has no label with a version']),
  ];
}

function instructionsOf(text: string): readonly Instruction[] {
  const lines = text.split('\n').filter((line) => !/^\s*#/.test(line));
  return lines
    .join('\n')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, name = '', text = ''] = /^\s*(\S+)\s*(.*)$/.exec(line) ?? [];
      return { name, text: text.replaceAll(/\s+/g, ' ').trim() };
    });
}

function checkImage(image: string): readonly string[] {
  const [, tag] = /:([^:/]+)$/.exec(image) ?? [];
  return tag === undefined || tag === 'latest' ? [`the image ${image} has no version`] : [];
}

/** What is copied must be sent to the builder, or come from a stage that there is. */
function checkCopy(
  { name, text }: Instruction,
  { stages }: Dockerfile,
  isSent: (path: string) => boolean,
): readonly string[] {
  if (name === 'ADD') return ['ADD fetches and unpacks: COPY does neither'];
  if (name !== 'COPY') return [];
  const words = text.split(' ');
  const from = words.find((word) => word.startsWith('--from='))?.slice('--from='.length);
  if (from !== undefined) return stages.some((stage) => stage.name === from) ? [] : [`no stage ${from}`];
  const sources = words.filter((word) => !word.startsWith('--')).slice(0, -1);
  return sources.filter((source) => !isSent(source)).map((source) => `${source} does not get to the builder`);
}
