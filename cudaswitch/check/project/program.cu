// Without an argument: for which CUDA this was compiled. With one: whether a kernel runs here.
#include <cstdio>
#include <cuda_runtime.h>

enum { NOTHING_TO_RUN_ON = 77 };

__global__ void answer(int *cell) { *cell = 42; }

static int failed(cudaError_t error) {
  std::printf("error: %s\n", cudaGetErrorString(error));
  return 1;
}

int main(int count, char **) {
  if (count < 2) {
    std::printf("%d\n", CUDART_VERSION);
    return 0;
  }
  int driver = 0, devices = 0, found = 0, *cell = nullptr;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    std::printf("no driver is loaded\n");
    return NOTHING_TO_RUN_ON;
  }
  cudaError_t error = cudaGetDeviceCount(&devices);
  if (error == cudaErrorNoDevice) {
    std::printf("no GPU can be seen\n");
    return NOTHING_TO_RUN_ON;
  }
  if (error != cudaSuccess) return failed(error);
  cudaDeviceProp device;
  if ((error = cudaGetDeviceProperties(&device, 0)) != cudaSuccess) return failed(error);
  if ((error = cudaMalloc(&cell, sizeof *cell)) != cudaSuccess) return failed(error);
  answer<<<1, 1>>>(cell);
  if ((error = cudaGetLastError()) != cudaSuccess) return failed(error);
  error = cudaMemcpy(&found, cell, sizeof found, cudaMemcpyDeviceToHost);
  if (error != cudaSuccess) return failed(error);
  if (found != 42) {
    std::printf("error: the kernel wrote %d instead of 42\n", found);
    return 1;
  }
  std::printf("ran on %s\n", device.name);
  return 0;
}
