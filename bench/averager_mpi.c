// SPDX-License-Identifier: Apache-2.0
/* Times MPI_Allreduce in place for averager.py: mpirun -n RANKS averager_mpi BYTES... prints one JSON
   object. Batches and medians are those of averager_speed. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { batches = 7 };

static int compare(const void* left, const void* right) {
  const double difference = *(const double*)left - *(const double*)right;
  return difference < 0 ? -1 : difference > 0;
}

int main(int count, char** words) {
  int rank = 0;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int one = 1; one < count; ++one) {
    const unsigned long long bytes = strtoull(words[one], NULL, 10);
    float* data = malloc(bytes);
    memset(data, 1, bytes);
    const int elements = (int)(bytes / sizeof(float));
    const unsigned long long batch_bytes = 64ULL << 20;
    const unsigned long long batch = bytes < batch_bytes ? batch_bytes / bytes : 1;
    double times[batches];
    MPI_Allreduce(MPI_IN_PLACE, data, elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (int round = 0; round < batches; ++round) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      for (unsigned long long repeat = 0; repeat < batch; ++repeat)
        MPI_Allreduce(MPI_IN_PLACE, data, elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      times[round] = (MPI_Wtime() - begin) / (double)batch;
    }
    qsort(times, batches, sizeof(double), compare);
    if (rank == 0)
      printf("%s\"%llu\": %.9f", one == 1 ? "{" : ", ", bytes, times[batches / 2]);
    free(data);
  }
  if (rank == 0) printf("}\n");
  MPI_Finalize();
  return 0;
}
