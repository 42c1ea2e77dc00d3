package collection

import "fmt"

// Revision is raised with every change after which trainings of the same settings come
// out otherwise, so that what was kept of one before is not taken for one of now.
const Revision = 2

// Identity says in full what decides a training beside its rows, its seed and the
// size of a batch.
func (j Training) Identity() string {
	j.Seed = 0
	net := j.newNet(new(Fields))
	return fmt.Sprintf("training %d, %v, pretrained by %s, %d epochs, patience %d", Revision, net, j.Pretrain, j.Epochs, j.patience(net))
}
