// Jobs: work of the server that goes on after its answer.
import { get } from "./api.js";
import { t } from "./texts.js";

// ended waits for the end of a job, and returns it; tell is called with its progress. It throws where the job was not done.
export async function ended(job, signal, tell = () => {}) {
  while (job.state === "queued" || job.state === "running") {
    await new Promise((resolve) => setTimeout(resolve, 300));
    signal.throwIfAborted();
    job = await get(`/v1/jobs/${encodeURIComponent(job.id)}`, { signal });
    if (job.progress) tell(job.progress);
  }
  if (job.state !== "done") throw { detail: job.error?.detail || job.error || t`The job ended: ${job.state}.` };
  return job;
}
